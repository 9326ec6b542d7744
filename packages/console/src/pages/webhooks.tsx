import { Button, Modal, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { WebhookEndpoint, WebhookEndpointWithSecret } from '@tapedeck/contract'
import { useState } from 'react'
import { useOrganisation } from '../api/organisation.ts'
import { endpointsQuery } from '../api/queries.ts'
import { Icon } from '../parts/icon.tsx'
import { sayError } from '../parts/messages.tsx'
import { Page } from '../parts/page.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { Pill } from '../parts/status.tsx'
import { Table } from '../parts/table.tsx'
import { Ago } from '../parts/time.tsx'
import { EndpointForm, type EndpointInput } from './webhooks/endpoint-form.tsx'

export function WebhooksPage() {
  const organisation = useOrganisation()
  const client = useQueryClient()
  const { data: endpoints, error, refetch } = useQuery(endpointsQuery(organisation))
  const [isMaking, setMaking] = useState(false)
  const create = useMutation({
    mutationFn: ({ url, events, description }: EndpointInput) =>
      organisation.ask<WebhookEndpointWithSecret>('POST', '/v1/webhook_endpoints', {
        url,
        events,
        ...(description !== '' && { description }),
      }),
    async onSuccess() {
      setMaking(false)
      await client.invalidateQueries({ queryKey: [organisation.id, 'endpoints'] })
    },
    onError: sayError,
  })
  return (
    <Page
      title="Webhooks"
      lead="Addresses of yours that are called when a session is done."
      actions={organisation.mayWrite && <Button onClick={() => setMaking(true)}>Add endpoint</Button>}
    >
      {create.data && (
        <ShownOnce title={`The secret of ${create.data.url}`} secret={create.data.secret}>
          Verify the signature of every call with it.
        </ShownOnce>
      )}
      {error && !endpoints && <Failure error={error} onRetry={() => void refetch()} />}
      {!endpoints && !error && <Loading rows={3} />}
      {endpoints?.length === 0 && (
        <Empty icon={<Icon name="webhook" size={40} />} title="No endpoints yet">
          Add one, and Tapedeck calls it when a session was processed or failed.
        </Empty>
      )}
      {endpoints && endpoints.length > 0 && <EndpointTable endpoints={endpoints} />}
      <Modal
        opened={isMaking}
        onClose={() => setMaking(false)}
        title="Add an endpoint"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <EndpointForm
          action="Add"
          isBusy={create.isPending}
          onSubmit={(input) => create.mutate(input)}
          onCancel={() => setMaking(false)}
        />
      </Modal>
    </Page>
  )
}

function EndpointTable({ endpoints }: { endpoints: WebhookEndpoint[] }) {
  const { slug } = useOrganisation()
  return (
    <Table name="endpoints" titles={['Address', 'Events', 'Status', 'Created']}>
      {endpoints.map((endpoint) => (
        <tr key={endpoint.id} className="link">
          <td style={{ maxWidth: 460 }}>
            <Link
              className="quiet"
              to="/o/$organisation/webhooks/$endpoint"
              params={{ organisation: slug, endpoint: endpoint.id }}
            >
              <Text size="sm" fw={500} className="clip">
                {endpoint.url}
              </Text>
            </Link>
            {endpoint.description && (
              <Text size="xs" c="dimmed" className="clip">
                {endpoint.description}
              </Text>
            )}
          </td>
          <td>
            <span style={{ display: 'flex', gap: 4, flexWrap: 'wrap' }}>
              {endpoint.events.map((name) => (
                <Pill key={name}>{name}</Pill>
              ))}
            </span>
          </td>
          <td>
            {endpoint.status === 'enabled' ? (
              <Pill tone="good">enabled</Pill>
            ) : (
              <Pill tone="bad">disabled</Pill>
            )}
          </td>
          <td>
            <Ago at={endpoint.created_at} />
          </td>
        </tr>
      ))}
    </Table>
  )
}
