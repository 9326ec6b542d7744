import { Button, Checkbox, Group, Stack, TextInput } from '@mantine/core'
import type { EventType, WebhookEndpoint } from '@tapedeck/contract'
import { type FormEvent, useState } from 'react'

const events: Record<EventType, string> = {
  'session.processed': 'A session was processed, its segments can be searched',
  'session.failed': 'Processing of a session stopped',
  'export.completed': 'An export is written',
  'export.failed': 'An export stopped',
}
export const eventNames = Object.keys(events) as EventType[]

export type EndpointInput = { url: string; events: EventType[]; description: string }

export function EndpointForm({
  endpoint,
  action,
  isBusy,
  onSubmit,
  onCancel,
}: {
  endpoint?: WebhookEndpoint
  action: string
  isBusy: boolean
  onSubmit: (input: EndpointInput) => void
  onCancel: () => void
}) {
  const [chosen, setChosen] = useState<string[]>(endpoint?.events ?? ['session.processed', 'session.failed'])
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const [url, description] = [String(form.get('url')).trim(), String(form.get('description')).trim()]
    onSubmit({ url, description, events: eventNames.filter((name) => chosen.includes(name)) })
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <TextInput
          name="url"
          label="Address"
          type="url"
          placeholder="https://pipeline.example.com/hooks/tapedeck"
          defaultValue={endpoint?.url ?? ''}
          required
          maxLength={2048}
          data-autofocus
        />
        <TextInput
          name="description"
          label="Description"
          description="Optional"
          defaultValue={endpoint?.description ?? ''}
          maxLength={500}
        />
        <Checkbox.Group label="Events" value={chosen} onChange={setChosen} required>
          <Stack gap={8} mt={6}>
            {eventNames.map((name) => (
              <Checkbox key={name} value={name} label={name} description={events[name]} />
            ))}
          </Stack>
        </Checkbox.Group>
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={isBusy} disabled={chosen.length === 0}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
