import { Notification, Stack } from '@mantine/core'
import { useSyncExternalStore } from 'react'

// Short words on what was just done, or was not. They go by themselves, but for what went wrong.

type Message = { id: number; text: string; isBad: boolean }

const SHOWN_MS = 5_000

let messages: Message[] = []
let next = 1
const listeners = new Set<() => void>()

function change(to: Message[]): void {
  messages = to
  for (const listener of listeners) listener()
}

export function say(text: string): void {
  const message = { id: next++, text, isBad: false }
  change([...messages.slice(-3), message])
  setTimeout(() => dismiss(message.id), SHOWN_MS)
}

export function sayError(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error)
  change([...messages.slice(-3), { id: next++, text, isBad: true }])
}

function dismiss(id: number): void {
  change(messages.filter((message) => message.id !== id))
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function Messages() {
  const shown = useSyncExternalStore(subscribe, () => messages)
  return (
    <Stack
      pos="fixed"
      bottom={16}
      left="50%"
      gap="xs"
      maw="92vw"
      style={{ transform: 'translateX(-50%)', zIndex: 400 }}
      role="status"
    >
      {shown.map(({ id, text, isBad }) => (
        <Notification
          key={id}
          color={isBad ? 'red' : 'teal'}
          withBorder
          onClose={() => dismiss(id)}
          closeButtonProps={{ 'aria-label': 'Dismiss' }}
        >
          <span className="wrap">{text}</span>
        </Notification>
      ))}
    </Stack>
  )
}
