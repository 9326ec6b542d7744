import { type PointerEvent, type RefObject, useEffect, useRef } from 'react'
import { lengthOf, pan, type View, whole, zoom } from './view.ts'

// How the timeline is moved: by keys, wheels and drags.

export function stepOf(key: string, view: View, spanNs: number): View | undefined {
  const middle = (view.fromNs + view.toNs) / 2
  switch (key) {
    case 'ArrowLeft':
      return pan(view, -lengthOf(view) / 8, spanNs)
    case 'ArrowRight':
      return pan(view, lengthOf(view) / 8, spanNs)
    case '+':
    case '=':
      return zoom(view, 1.6, middle, spanNs)
    case '-':
      return zoom(view, 1 / 1.6, middle, spanNs)
    case '0':
    case 'Home':
      return whole(spanNs)
    default:
      return undefined
  }
}

/** Wheels that mean the timeline: with ctrl, with shift, or sideways. Others scroll the page. */
export function useWheel(
  target: RefObject<HTMLElement | null>,
  take: (event: WheelEvent, x: number) => void,
): void {
  const latest = useRef(take)
  latest.current = take
  useEffect(() => {
    const element = target.current
    if (!element) return
    const onWheel = (event: WheelEvent) => {
      const isOurs =
        event.ctrlKey || event.metaKey || event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)
      if (!isOurs) return
      event.preventDefault()
      latest.current(event, event.clientX - element.getBoundingClientRect().left)
    }
    element.addEventListener('wheel', onWheel, { passive: false })
    return () => element.removeEventListener('wheel', onWheel)
  }, [target])
}

export function useDrag(move: (dx: number) => void) {
  const last = useRef<number>(undefined)
  return {
    onPointerDown(event: PointerEvent<HTMLCanvasElement>) {
      if (event.button !== 0) return
      event.currentTarget.setPointerCapture(event.pointerId)
      last.current = event.clientX
    },
    onPointerMove(event: PointerEvent<HTMLCanvasElement>) {
      if (last.current === undefined || event.buttons === 0) return
      move(event.clientX - last.current)
      last.current = event.clientX
    },
    onPointerUp() {
      last.current = undefined
    },
  }
}
