import { Group, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'

/** Title, a line on what the page is for, what can be done, and the page. */
export function Page({
  title,
  back,
  lead,
  actions,
  children,
}: {
  title: ReactNode
  /** The way to where one came from. */
  back?: ReactNode
  lead?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  useTitle(typeof title === 'string' ? title : undefined)
  return (
    <main style={{ padding: '24px clamp(16px, 3vw, 36px) 64px', maxWidth: 1500 }}>
      <Group justify="space-between" align="flex-start" mb="lg" gap="sm">
        <div style={{ minWidth: 0, flex: '1 1 280px' }}>
          {back && (
            <Text size="sm" c="dimmed" mb={6} component="div">
              {back}
            </Text>
          )}
          <Title order={1} className="wrap">
            {title}
          </Title>
          {lead && (
            <Text c="dimmed" mt={4} component="div">
              {lead}
            </Text>
          )}
        </div>
        <Group gap="xs">{actions}</Group>
      </Group>
      {children}
    </main>
  )
}

export function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = title ? `${title} · Tapedeck` : 'Tapedeck'
  }, [title])
}
