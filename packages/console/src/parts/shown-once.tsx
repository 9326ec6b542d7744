import { Alert, Group, Text } from '@mantine/core'
import { CopyIconButton } from './copy.tsx'

/** A secret, the only time that it can be read. */
export function ShownOnce({
  title,
  secret,
  children,
}: {
  title: string
  secret: string
  children?: React.ReactNode
}) {
  return (
    <Alert variant="light" color="teal" title={title} mb="lg">
      <Text size="sm" mb="xs">
        Copy it now: it is shown only this once, and kept only as a hash. {children}
      </Text>
      <Group gap="xs" wrap="nowrap" className="card" px="sm" py={6}>
        <span className="mono wrap" data-testid="secret" style={{ flex: 1 }}>
          {secret}
        </span>
        <CopyIconButton text={secret} label="Copy" />
      </Group>
    </Alert>
  )
}
