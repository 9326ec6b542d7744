import { useMantineColorScheme } from '@mantine/core'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { type Colours, readColours } from './colours.ts'

/** The width of an element, as it changes. */
export function useWidth<T extends Element>(): [RefObject<T | null>, number] {
  const ref = useRef<T>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const element = ref.current
    if (!element) return
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, width]
}

/** The context of a canvas of this size, sharp on every screen. */
export function prepare(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | undefined {
  const scale = window.devicePixelRatio || 1
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)]
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide
    canvas.height = high
  }
  const context = canvas.getContext('2d')
  context?.setTransform(scale, 0, 0, scale, 0, 0)
  return context ?? undefined
}

/** The colours of the theme that is on. */
export function useColours(): Colours {
  const { colorScheme } = useMantineColorScheme()
  const [colours, setColours] = useState(() => readColours(document.body))
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours change with the theme
  useEffect(() => {
    const frame = requestAnimationFrame(() => setColours(readColours(document.body)))
    return () => cancelAnimationFrame(frame)
  }, [colorScheme])
  return colours
}
