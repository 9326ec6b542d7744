import { ActionIcon, Group, Progress, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useOrganisation } from '../api/organisation.ts'
import { formatBytes } from '../parts/format.ts'
import { Icon } from '../parts/icon.tsx'
import type { Upload } from './queue.ts'
import { useQueue, useUploads } from './uploads.tsx'

export function UploadList() {
  const uploads = useUploads()
  if (uploads.length === 0) return null
  return (
    <Stack gap={0} className="card" mb="lg" component="section" aria-label="Uploads" data-testid="uploads">
      {uploads.map((upload) => (
        <UploadRow key={upload.id} upload={upload} />
      ))}
    </Stack>
  )
}

function UploadRow({ upload }: { upload: Upload }) {
  const { slug } = useOrganisation()
  const queue = useQueue()
  const { id, file, state, session } = upload
  return (
    <Group
      px="md"
      py={8}
      gap="md"
      wrap="nowrap"
      style={{ borderBottom: '1px solid var(--line)' }}
      data-state={state}
    >
      <div style={{ flex: 1, minWidth: 0 }}>
        <Group gap="xs" wrap="nowrap">
          <Text size="sm" fw={500} className="clip">
            {state === 'done' ? (
              <Link to="/o/$organisation/sessions/$session" params={{ organisation: slug, session }}>
                {file.name}
              </Link>
            ) : (
              file.name
            )}
          </Text>
          <Text size="xs" c="dimmed" className="numbers">
            {formatBytes(file.size)}
          </Text>
        </Group>
        <Text size="xs" c={state === 'failed' ? 'var(--bad)' : 'dimmed'} className="wrap">
          {describe(upload)}
        </Text>
        {(state === 'running' || state === 'paused') && (
          <Progress
            value={percentOf(upload)}
            size={4}
            mt={5}
            color={state === 'paused' ? 'gray' : 'ink'}
            aria-label={`Progress of ${file.name}`}
          />
        )}
      </div>
      <Group gap={2} wrap="nowrap">
        {(state === 'running' || state === 'waiting') && (
          <RowButton label={`Pause ${file.name}`} onClick={() => queue.pause(id)}>
            <Icon name="pause" size={16} />
          </RowButton>
        )}
        {state === 'paused' && (
          <RowButton label={`Resume ${file.name}`} onClick={() => queue.resume(id)}>
            <Icon name="play" size={16} />
          </RowButton>
        )}
        {state === 'failed' && file.size > 0 && (
          <RowButton label={`Try ${file.name} again`} onClick={() => queue.resume(id)}>
            <Icon name="retry" size={16} />
          </RowButton>
        )}
        <RowButton label={`Dismiss ${file.name}`} onClick={() => queue.dismiss(id)}>
          <Icon name="close" size={16} />
        </RowButton>
      </Group>
    </Group>
  )
}

function RowButton({
  label,
  onClick,
  children,
}: {
  label: string
  onClick: () => void
  children: React.ReactNode
}) {
  return (
    <ActionIcon variant="subtle" color="gray" aria-label={label} onClick={onClick}>
      {children}
    </ActionIcon>
  )
}

function percentOf({ progress }: Upload): number {
  return progress ? (progress.bytes / progress.totalBytes) * 100 : 0
}

const phases = { hashing: 'reading the file', uploading: 'uploading', completing: 'verifying' }

function describe({ state, progress, problem, isResumed }: Upload): string {
  if (state === 'failed') return problem
  if (state === 'waiting') return 'waiting for its turn'
  if (state === 'done') return 'arrived whole'
  const before = isResumed ? 'goes on where it was: ' : ''
  if (!progress) return `${before}beginning`
  const done = `${formatBytes(progress.bytes)} of ${formatBytes(progress.totalBytes)}`
  return state === 'paused' ? `paused at ${done}` : `${before}${phases[progress.phase]}, ${done}`
}
