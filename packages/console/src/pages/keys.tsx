import { Button, Group, Modal, SegmentedControl, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ApiKey, CreateApiKey, CreatedApiKey } from '@tapedeck/contract'
import { type FormEvent, useState } from 'react'
import { useOrganisation } from '../api/organisation.ts'
import { keysQuery } from '../api/queries.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Icon } from '../parts/icon.tsx'
import { say, sayError } from '../parts/messages.tsx'
import { Page } from '../parts/page.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { Pill } from '../parts/status.tsx'
import { Table } from '../parts/table.tsx'
import { Ago } from '../parts/time.tsx'

export function KeysPage() {
  const organisation = useOrganisation()
  const { data: keys, error, refetch } = useQuery(keysQuery(organisation))
  const [isMaking, setMaking] = useState(false)
  const [made, setMade] = useState<CreatedApiKey>()
  return (
    <Page
      title="API keys"
      lead="What programs use to talk to Tapedeck. Live keys reach your recordings, test keys a sandbox with samples."
      actions={organisation.mayWrite && <Button onClick={() => setMaking(true)}>Create key</Button>}
    >
      {made && <ShownOnce title={`The key ${made.name}`} secret={made.key} />}
      {error && !keys && <Failure error={error} onRetry={() => void refetch()} />}
      {!keys && !error && <Loading rows={4} />}
      {keys?.length === 0 && <Empty icon={<Icon name="key" size={40} />} title="No keys yet" />}
      {keys && keys.length > 0 && <KeyTable keys={keys} />}
      <NewKey isOpen={isMaking} onClose={() => setMaking(false)} onMade={setMade} />
    </Page>
  )
}

function KeyTable({ keys }: { keys: ApiKey[] }) {
  return (
    <Table name="keys" titles={['Name', 'Reaches', 'May', 'Last used', 'Created', 'Id']} hasActions>
      {keys.map((key) => (
        <KeyRow key={key.id} apiKey={key} />
      ))}
    </Table>
  )
}

function KeyRow({ apiKey }: { apiKey: ApiKey }) {
  const { mayWrite } = useOrganisation()
  const isRevoked = apiKey.revoked_at !== null
  return (
    <tr data-key={apiKey.id}>
      <td style={{ maxWidth: 260, textDecoration: isRevoked ? 'line-through' : undefined }}>
        <div className="clip" title={apiKey.name}>
          {apiKey.name}
        </div>
      </td>
      <td>{apiKey.mode === 'live' ? <Pill tone="good">live</Pill> : <Pill tone="warn">test</Pill>}</td>
      <td>{apiKey.write ? 'read and write' : 'read'}</td>
      <td>{apiKey.last_used_at ? <Ago at={apiKey.last_used_at} /> : 'never'}</td>
      <td>
        <Ago at={apiKey.created_at} />
      </td>
      <td>
        <span className="mono">{apiKey.id.slice(0, 14)}…</span>
      </td>
      <td style={{ textAlign: 'right' }}>
        {isRevoked ? <Pill tone="bad">revoked</Pill> : mayWrite && <Revoke apiKey={apiKey} />}
      </td>
    </tr>
  )
}

function Revoke({ apiKey }: { apiKey: ApiKey }) {
  const { ask, id } = useOrganisation()
  const client = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const revoke = useMutation({
    mutationFn: () => ask('POST', `/console/api/keys/${apiKey.id}/revoke`, {}),
    async onSuccess() {
      setAsking(false)
      say(`${apiKey.name} is revoked, everywhere.`)
      await client.invalidateQueries({ queryKey: [id, 'keys'] })
    },
    onError: sayError,
  })
  return (
    <>
      <Button
        size="compact-xs"
        variant="default"
        onClick={() => setAsking(true)}
        aria-label={`Revoke ${apiKey.name}`}
      >
        Revoke
      </Button>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Revoke this key?"
        action="Revoke"
        isBusy={revoke.isPending}
        onConfirm={() => revoke.mutate()}
      >
        Programs that use <strong>{apiKey.name}</strong> are refused from that moment on. This cannot be
        undone.
      </Confirm>
    </>
  )
}

function NewKey({
  isOpen,
  onClose,
  onMade,
}: {
  isOpen: boolean
  onClose: () => void
  onMade: (key: CreatedApiKey) => void
}) {
  const { ask, id, isSandbox } = useOrganisation()
  const client = useQueryClient()
  const [mode, setMode] = useState<string>(isSandbox ? 'test' : 'live')
  const create = useMutation({
    mutationFn: (body: CreateApiKey) => ask<CreatedApiKey>('POST', '/console/api/keys', body),
    async onSuccess(made) {
      onMade(made)
      onClose()
      await client.invalidateQueries({ queryKey: [id, 'keys'] })
    },
    onError: sayError,
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const name = String(form.get('name')).trim()
    create.mutate({ name, mode: mode === 'test' ? 'test' : 'live', write: form.get('write') === 'on' })
  }
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title="Create a key"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form onSubmit={submit}>
        <Stack gap="md">
          <TextInput
            name="name"
            label="Name"
            description="Who or what will use it"
            placeholder="nightly pipeline"
            required
            maxLength={255}
            data-autofocus
          />
          <div>
            <Text size="sm" fw={500} mb={4}>
              Reaches
            </Text>
            <SegmentedControl
              aria-label="Reaches"
              value={mode}
              onChange={setMode}
              data={[
                { label: 'Live', value: 'live' },
                { label: 'Test (sandbox)', value: 'test' },
              ]}
            />
          </div>
          <Switch name="write" label="May write: upload, delete, change webhooks" defaultChecked />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={create.isPending}>
              Create
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
