import { useEffect, useState } from 'react'
import { formatAgo, formatTime } from './format.ts'

const EVERY_MS = 20_000

/** How long ago, with the exact time at hand. */
export function Ago({ at }: { at: string }) {
  const [nowMs, setNowMs] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <time dateTime={at} title={formatTime(at)} className="numbers">
      {formatAgo(at, nowMs)}
    </time>
  )
}

export function At({ at }: { at: string | null }) {
  if (at === null) return <>–</>
  return (
    <time dateTime={at} className="numbers">
      {formatTime(at)}
    </time>
  )
}
