import { Button, Group, Stack, Text } from '@mantine/core'
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { DeliveryAttempt, WebhookDelivery, WebhookEndpoint } from '@tapedeck/contract'
import { useState } from 'react'
import { useOrganisation } from '../../api/organisation.ts'
import { deliveriesQuery, eventQuery } from '../../api/queries.ts'
import { CodeBlock } from '../../parts/copy.tsx'
import { ChoiceFilter, FilterBar, useFilters } from '../../parts/filters.tsx'
import { say, sayError } from '../../parts/messages.tsx'
import { More } from '../../parts/more.tsx'
import { Empty, Failure, Loading } from '../../parts/states.tsx'
import { Pill } from '../../parts/status.tsx'
import { Ago, At } from '../../parts/time.tsx'
import { eventNames } from './endpoint-form.tsx'

/** What was sent, with every attempt and what came back. */
export function Deliveries({ endpoint }: { endpoint: WebhookEndpoint }) {
  const organisation = useOrganisation()
  const { filters, isFiltered, clear, use } = useFilters(['status', 'event_type'])
  const deliveries = useInfiniteQuery(deliveriesQuery(organisation, endpoint.id, filters))
  const found = deliveries.data?.pages.flatMap(({ data }) => data)
  return (
    <>
      <FilterBar isFiltered={isFiltered} onClear={clear}>
        <ChoiceFilter label="Status" data={['pending', 'succeeded', 'failed']} {...use('status')} />
        <ChoiceFilter label="Event" data={[...eventNames, 'ping']} {...use('event_type')} width={180} />
      </FilterBar>
      {deliveries.isError && !found && (
        <Failure error={deliveries.error} onRetry={() => void deliveries.refetch()} />
      )}
      {deliveries.isPending && <Loading rows={4} />}
      {found?.length === 0 && <Empty title="Nothing was sent yet">Send a test to see one here.</Empty>}
      {found && found.length > 0 && (
        <Stack gap={0} className="card" data-testid="deliveries">
          {found.map((delivery) => (
            <Delivery key={delivery.id} delivery={delivery} />
          ))}
        </Stack>
      )}
      <More
        hasMore={deliveries.hasNextPage}
        isLoading={deliveries.isFetchingNextPage}
        onMore={() => void deliveries.fetchNextPage()}
      />
    </>
  )
}

const tones = { pending: 'busy', succeeded: 'good', failed: 'bad' } as const

function Delivery({ delivery }: { delivery: WebhookDelivery }) {
  const [isOpen, setOpen] = useState(false)
  const last = delivery.attempts.at(-1)
  return (
    <div style={{ borderBottom: '1px solid var(--line)' }}>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        style={{
          all: 'unset',
          boxSizing: 'border-box',
          width: '100%',
          padding: '9px 14px',
          cursor: 'pointer',
          display: 'flex',
          gap: 14,
          alignItems: 'center',
          flexWrap: 'wrap',
        }}
        className="delivery"
      >
        <Pill tone={tones[delivery.status]}>{delivery.status}</Pill>
        <Text size="sm" fw={500}>
          {delivery.event_type}
        </Text>
        <Text size="sm" c="dimmed">
          {last ? describe(last) : 'not tried yet'}
        </Text>
        <span style={{ flex: 1 }} />
        <Text size="sm" c="dimmed" component="span">
          {delivery.attempts.length} {delivery.attempts.length === 1 ? 'attempt' : 'attempts'}
        </Text>
        <Ago at={delivery.created_at} />
      </button>
      {isOpen && <Detail delivery={delivery} />}
    </div>
  )
}

function describe({ status, error, duration_ms }: DeliveryAttempt): string {
  return `${status ?? error ?? ''}${status && error && error !== 'status' ? ` ${error}` : ''} in ${duration_ms} ms`
}

function Detail({ delivery }: { delivery: WebhookDelivery }) {
  const organisation = useOrganisation()
  const { data: event, error } = useQuery(eventQuery(organisation, delivery.event))
  return (
    <Stack gap="sm" px="md" pb="md">
      <Group gap="lg">
        <Text size="xs" c="dimmed" className="mono">
          {delivery.event}
        </Text>
        {delivery.next_attempt_at && (
          <Text size="xs" c="dimmed">
            tried again at <At at={delivery.next_attempt_at} />
          </Text>
        )}
        {organisation.mayWrite && delivery.status !== 'pending' && <Redeliver delivery={delivery} />}
      </Group>
      {delivery.attempts.map((attempt) => (
        <div key={attempt.number}>
          <Text size="sm">
            Attempt {attempt.number}, <At at={attempt.at} />: {describe(attempt)}
          </Text>
          {attempt.response && (
            <CodeBlock code={attempt.response} label={`answer to attempt ${attempt.number}`} />
          )}
        </div>
      ))}
      <Text size="sm" fw={500}>
        What was sent
      </Text>
      {error && <Text c="dimmed">{error.message}</Text>}
      {event && <CodeBlock code={JSON.stringify(event, bigintAsNumber, 2)} label="payload" />}
    </Stack>
  )
}

function bigintAsNumber(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

function Redeliver({ delivery }: { delivery: WebhookDelivery }) {
  const { ask, id } = useOrganisation()
  const client = useQueryClient()
  const redeliver = useMutation({
    mutationFn: () =>
      ask('POST', `/v1/webhook_endpoints/${delivery.endpoint}/deliveries/${delivery.id}/redeliver`, {}),
    onSuccess: async () => {
      say('It is sent again.')
      await client.invalidateQueries({ queryKey: [id, 'deliveries', delivery.endpoint] })
    },
    onError: sayError,
  })
  return (
    <Button
      size="compact-xs"
      variant="default"
      onClick={() => redeliver.mutate()}
      loading={redeliver.isPending}
    >
      Send again
    </Button>
  )
}
