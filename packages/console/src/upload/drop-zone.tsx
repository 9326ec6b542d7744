import { Autocomplete, Button, FileButton, Group, Modal, Stack, Text, Textarea } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type DragEvent, type FormEvent, type ReactNode, useState } from 'react'
import { useOrganisation } from '../api/organisation.ts'
import { devicesQuery, sitesQuery } from '../api/queries.ts'
import { formatBytes } from '../parts/format.ts'
import { Icon } from '../parts/icon.tsx'
import { useQueue } from './uploads.tsx'

/** Takes files that are dropped anywhere on the page, asks where they come from, and sends them. */
export function DropZone({ children }: { children: (chooser: ReactNode) => ReactNode }) {
  const { mayWrite } = useOrganisation()
  const [files, setFiles] = useState<File[]>([])
  const [isOver, setOver] = useState(false)
  if (!mayWrite) return children(null)

  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    const dropped = [...event.dataTransfer.items].filter(isFile).flatMap((item) => item.getAsFile() ?? [])
    if (dropped.length > 0) setFiles(dropped)
  }
  const chooser = (
    <FileButton onChange={setFiles} multiple>
      {(props) => (
        <Button {...props} leftSection={<Icon name="upload" size={16} />}>
          Upload
        </Button>
      )}
    </FileButton>
  )
  return (
    <section
      aria-label="Sessions; drop files here to upload them"
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      style={{ minHeight: '100vh', position: 'relative' }}
    >
      {children(chooser)}
      {isOver && (
        <div
          className="drop"
          data-over
          style={{
            position: 'absolute',
            inset: 10,
            display: 'grid',
            placeItems: 'center',
            pointerEvents: 'none',
            opacity: 0.92,
          }}
        >
          <Text fw={600} size="lg">
            Drop the recordings
          </Text>
        </div>
      )}
      <About files={files} onClose={() => setFiles([])} />
    </section>
  )
}

/** Folders are no recordings. */
function isFile(item: DataTransferItem): boolean {
  return item.kind === 'file' && item.webkitGetAsEntry?.()?.isDirectory !== true
}

const SITE_KEPT = 'tapedeck-last-site'

function About({ files, onClose }: { files: File[]; onClose: () => void }) {
  const organisation = useOrganisation()
  const queue = useQueue()
  const { data: sites = [] } = useQuery(sitesQuery(organisation))
  const { data: devices = [] } = useQuery(devicesQuery(organisation))
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const read = (name: string) => String(form.get(name) ?? '').trim()
    localStorage.setItem(SITE_KEPT, read('site'))
    queue.add(files, { site: read('site'), device: read('device'), notes: read('notes') })
    onClose()
  }
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  return (
    <Modal
      opened={files.length > 0}
      onClose={onClose}
      title={files.length === 1 ? 'Upload a recording' : `Upload ${files.length} recordings`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Text size="sm" c="dimmed" className="wrap">
            {files
              .slice(0, 4)
              .map(({ name }) => name)
              .join(', ')}
            {files.length > 4 ? ` and ${files.length - 4} more` : ''} · {formatBytes(bytes)}
          </Text>
          <Autocomplete
            name="site"
            label="Site"
            description="Where they were recorded"
            data={sites.map(({ name }) => name)}
            defaultValue={localStorage.getItem(SITE_KEPT) ?? ''}
            required
            maxLength={255}
            data-autofocus
          />
          <Autocomplete
            name="device"
            label="Device"
            description="Optional; applies its stored calibration"
            data={devices.map(({ name }) => name)}
            maxLength={255}
          />
          <Textarea
            name="notes"
            label="Notes"
            description="Optional"
            autosize
            minRows={2}
            maxRows={6}
            maxLength={10_000}
          />
          <Group justify="flex-end" mt="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit">Upload</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
