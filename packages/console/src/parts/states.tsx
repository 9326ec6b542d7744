import { Alert, Button, Center, Skeleton, Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Refusal } from '../api/request.ts'

/** What a page shows while there is nothing: why, and what to do. */
export function Empty({ icon, title, children }: { icon?: ReactNode; title: string; children?: ReactNode }) {
  return (
    <Center py={64} px="md">
      <Stack gap="xs" align="center" maw={420} ta="center">
        <div style={{ color: 'var(--muted)' }}>{icon}</div>
        <Text fw={600} size="lg">
          {title}
        </Text>
        <Text c="dimmed" component="div">
          {children}
        </Text>
      </Stack>
    </Center>
  )
}

export function Loading({ rows = 8 }: { rows?: number }) {
  const fading = Array.from({ length: rows }, (_, row) => 1 - row / (rows + 2))
  return (
    <Stack gap="sm" py="md" role="status" aria-label="Loading">
      {fading.map((opacity) => (
        <Skeleton key={opacity} height={22} radius="sm" opacity={opacity} />
      ))}
    </Stack>
  )
}

/** A calm word on what went wrong; nothing is lost, and it can be tried again. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { title, text, detail } = explain(error)
  return (
    <Center py={56} px="md">
      <Alert
        variant="light"
        color={error instanceof Refusal ? 'gray' : 'orange'}
        title={title}
        maw={520}
        w="100%"
      >
        <Stack gap="sm" align="flex-start">
          <Text className="wrap">{text}</Text>
          {detail && (
            <Text size="xs" c="dimmed" className="mono">
              {detail}
            </Text>
          )}
          {onRetry && (
            <Button size="xs" variant="default" onClick={onRetry}>
              Try again
            </Button>
          )}
        </Stack>
      </Alert>
    </Center>
  )
}

const titles: Record<string, string> = {
  organisation_mismatch: 'This belongs to another organisation',
  membership_required: 'You are not a member of this organisation',
  owner_required: 'Only owners can see this',
  rate_limit_exceeded: 'Too many requests',
  overloaded: 'The service is busy',
}

function explain(error: unknown): { title: string; text: string; detail?: string } {
  if (error instanceof Refusal) {
    const title = titles[error.code] ?? (error.status === 404 ? 'There is nothing here' : 'This did not work')
    return { title, text: error.message, detail: error.requestId }
  }
  return {
    title: 'The service does not answer',
    text: error instanceof Error ? error.message : String(error),
  }
}

export function NothingHere() {
  return (
    <Center mih="60vh">
      <Stack align="center" gap="xs">
        <Title order={1}>There is no such page</Title>
        <Link to="/">To the sessions</Link>
      </Stack>
    </Center>
  )
}
