import { Button, Group, Modal, Stack, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import type { WebhookEndpoint, WebhookEndpointWithSecret } from '@tapedeck/contract'
import { useState } from 'react'
import { useOrganisation } from '../api/organisation.ts'
import { endpointQuery } from '../api/queries.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Icon } from '../parts/icon.tsx'
import { say, sayError } from '../parts/messages.tsx'
import { Page, useTitle } from '../parts/page.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { Failure, Loading } from '../parts/states.tsx'
import { Pill } from '../parts/status.tsx'
import { Deliveries } from './webhooks/deliveries.tsx'
import { EndpointForm, type EndpointInput } from './webhooks/endpoint-form.tsx'

export function WebhookPage() {
  const { endpoint: id } = useParams({ from: '/o/$organisation/webhooks/$endpoint' })
  const organisation = useOrganisation()
  const { data: endpoint, error, refetch } = useQuery(endpointQuery(organisation, id))
  const [secret, setSecret] = useState('')
  useTitle(endpoint?.url)
  if (error && !endpoint) return <Failure error={error} onRetry={() => void refetch()} />
  if (!endpoint) {
    return (
      <Page title="Webhook">
        <Loading />
      </Page>
    )
  }
  return (
    <Page
      title={
        <Group gap="sm" component="span">
          <span>{endpoint.url}</span>
          {endpoint.status === 'enabled' ? (
            <Pill tone="good">enabled</Pill>
          ) : (
            <Pill tone="bad">disabled</Pill>
          )}
        </Group>
      }
      back={
        <Link className="quiet" to="/o/$organisation/webhooks" params={{ organisation: organisation.slug }}>
          <Group gap={2} component="span">
            <Icon name="back" size={14} /> Webhooks
          </Group>
        </Link>
      }
      actions={organisation.mayWrite && <Actions endpoint={endpoint} onSecret={setSecret} />}
    >
      <Stack gap="lg">
        {secret && (
          <ShownOnce title="The new secret" secret={secret}>
            The old one signs too for 24 hours.
          </ShownOnce>
        )}
        <Group gap={6}>
          {endpoint.events.map((name) => (
            <Pill key={name}>{name}</Pill>
          ))}
          {endpoint.description && <span style={{ color: 'var(--muted)' }}>{endpoint.description}</span>}
        </Group>
        <section>
          <Title order={2} mb="sm">
            Deliveries
          </Title>
          <Deliveries endpoint={endpoint} />
        </section>
      </Stack>
    </Page>
  )
}

function Actions({ endpoint, onSecret }: { endpoint: WebhookEndpoint; onSecret: (secret: string) => void }) {
  const { ask, id, slug } = useOrganisation()
  const client = useQueryClient()
  const navigate = useNavigate()
  const [open, setOpen] = useState<'edit' | 'delete' | 'rotate'>()
  const path = `/v1/webhook_endpoints/${endpoint.id}`
  const refresh = () =>
    client.invalidateQueries({
      predicate: ({ queryKey }) => queryKey[0] === id && queryKey[2] === endpoint.id,
    })
  const close = () => setOpen(undefined)

  const test = useMutation({
    mutationFn: () => ask('POST', `${path}/test`, {}),
    onSuccess: async () => {
      say('A ping is on its way.')
      await refresh()
    },
    onError: sayError,
  })
  const rotate = useMutation({
    mutationFn: () => ask<WebhookEndpointWithSecret>('POST', `${path}/rotate_secret`, {}),
    onSuccess: ({ secret }) => {
      onSecret(secret)
      close()
    },
    onError: sayError,
  })
  const change = useMutation({
    mutationFn: (body: Partial<EndpointInput> & { status?: string }) =>
      ask('PATCH', path, { ...body, ...(body.description === '' && { description: null }) }),
    onSuccess: async () => {
      close()
      await refresh()
    },
    onError: sayError,
  })
  const remove = useMutation({
    mutationFn: () => ask('DELETE', path),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: [id, 'endpoints'] })
      await navigate({ to: '/o/$organisation/webhooks', params: { organisation: slug } })
    },
    onError: sayError,
  })
  const isOn = endpoint.status === 'enabled'
  return (
    <>
      <Button size="xs" onClick={() => test.mutate()} loading={test.isPending} disabled={!isOn}>
        Send test
      </Button>
      <Button size="xs" variant="default" onClick={() => setOpen('edit')}>
        Edit
      </Button>
      <Button size="xs" variant="default" onClick={() => setOpen('rotate')}>
        Rotate secret
      </Button>
      <Button
        size="xs"
        variant="default"
        onClick={() => change.mutate({ status: isOn ? 'disabled' : 'enabled' })}
      >
        {isOn ? 'Disable' : 'Enable'}
      </Button>
      <Button size="xs" variant="default" c="var(--bad)" onClick={() => setOpen('delete')}>
        Delete
      </Button>
      <Modal
        opened={open === 'edit'}
        onClose={close}
        title="Edit the endpoint"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <EndpointForm
          endpoint={endpoint}
          action="Save"
          isBusy={change.isPending}
          onSubmit={(input) => change.mutate(input)}
          onCancel={close}
        />
      </Modal>
      <Confirm
        isOpen={open === 'rotate'}
        onClose={close}
        title="Rotate the secret?"
        action="Rotate"
        isBusy={rotate.isPending}
        onConfirm={() => rotate.mutate()}
      >
        You get a new secret. The old one signs too for 24 hours, so that you can change over.
      </Confirm>
      <Confirm
        isOpen={open === 'delete'}
        onClose={close}
        title="Delete this endpoint?"
        action="Delete"
        isBusy={remove.isPending}
        onConfirm={() => remove.mutate()}
      >
        {endpoint.url} is not called any more, and its deliveries are deleted.
      </Confirm>
    </>
  )
}
