import { Button, Center } from '@mantine/core'
import { useEffect, useRef } from 'react'

/** The next page, when its place is scrolled to, or asked for. */
export function More({
  hasMore,
  isLoading,
  onMore,
}: {
  hasMore: boolean
  isLoading: boolean
  onMore: () => void
}) {
  const ref = useRef<HTMLDivElement>(null)
  const latest = useRef(onMore)
  latest.current = onMore
  useEffect(() => {
    const element = ref.current
    if (!element || !hasMore || isLoading) return
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && latest.current(), {
      rootMargin: '400px',
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [hasMore, isLoading])
  if (!hasMore) return null
  return (
    <Center py="md" ref={ref}>
      <Button variant="subtle" color="gray" size="xs" onClick={onMore} loading={isLoading}>
        More
      </Button>
    </Center>
  )
}
