import { Alert, Button, Group, Progress, Stack, Tabs, Text, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { Session } from '@tapedeck/contract'
import { useState } from 'react'
import { useOrganisation } from '../api/organisation.ts'
import { sessionQuery, sessionTextQuery } from '../api/queries.ts'
import { CodeBlock, CopyIconButton, CopyTextButton } from '../parts/copy.tsx'
import { formatBytes, formatCount, formatDuration } from '../parts/format.ts'
import { Icon } from '../parts/icon.tsx'
import { say, sayError } from '../parts/messages.tsx'
import { Page, useTitle } from '../parts/page.tsx'
import { Failure, Loading } from '../parts/states.tsx'
import { StatusPill } from '../parts/status.tsx'
import { At } from '../parts/time.tsx'
import { SessionTimeline } from '../timeline/session-timeline.tsx'
import { ChannelTable } from './session/channel-table.tsx'
import { Issues } from './session/issues.tsx'
import { DeleteSession } from './sessions.tsx'

export function SessionPage() {
  const { session: id } = useParams({ from: '/o/$organisation/sessions/$session' })
  const organisation = useOrganisation()
  const { data: session, error, refetch } = useQuery(sessionQuery(organisation, id))
  useTitle(session?.filename)
  if (error && !session) return <Failure error={error} onRetry={() => void refetch()} />
  if (!session) {
    return (
      <Page title="Session">
        <Loading />
      </Page>
    )
  }
  const isDone = session.status === 'processed'
  return (
    <Page
      title={
        <Group gap="sm" component="span">
          <span data-testid="filename">{session.filename}</span> <StatusPill session={session} />
        </Group>
      }
      back={
        <Link className="quiet" to="/o/$organisation/sessions" params={{ organisation: organisation.slug }}>
          <Group gap={2} component="span">
            <Icon name="back" size={14} /> Sessions
          </Group>
        </Link>
      }
      actions={<Actions session={session} />}
    >
      <Stack gap="lg">
        <Facts session={session} />
        <Standing session={session} />
        {isDone && <SessionTimeline session={session} />}
        <Tabs defaultValue="issues" keepMounted={false}>
          <Tabs.List>
            <Tabs.Tab value="issues">Issues ({session.issues.length})</Tabs.Tab>
            <Tabs.Tab value="channels">Channels ({session.channels.length})</Tabs.Tab>
            <Tabs.Tab value="json">JSON</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="issues" pt="md">
            <Issues session={session} />
          </Tabs.Panel>
          <Tabs.Panel value="channels" pt="md">
            <ChannelTable session={session} />
          </Tabs.Panel>
          <Tabs.Panel value="json" pt="md">
            <RawJson id={id} />
          </Tabs.Panel>
        </Tabs>
      </Stack>
    </Page>
  )
}

function Facts({ session }: { session: Session }) {
  return (
    <dl className="facts" data-testid="facts">
      <Fact name="Site">{session.site}</Fact>
      <Fact name="Device">{session.device ?? '–'}</Fact>
      <Fact name="Recorded">
        <At at={session.recorded_at} />
      </Fact>
      <Fact name="Length">{formatDuration(session.duration_s)}</Fact>
      <Fact name="Size">
        {formatBytes(session.bytes)}{' '}
        <span style={{ color: 'var(--muted)' }}>({formatCount(session.bytes)} B)</span>
      </Fact>
      <Fact name="Segments">{formatCount(session.segment_count)}</Fact>
      <Fact name="Created">
        <At at={session.created_at} />
      </Fact>
      <Fact name="Processed">
        <At at={session.processed_at} />
      </Fact>
      <Fact name="Id">
        <Copied text={session.id} label="Copy the id" />
      </Fact>
      <Fact name="SHA-256">
        <Copied text={session.sha256} label="Copy the hash" />
      </Fact>
      {session.notes && (
        <Fact name="Notes" isWide>
          <span className="wrap">{session.notes}</span>
        </Fact>
      )}
    </dl>
  )
}

function Fact({ name, isWide, children }: { name: string; isWide?: boolean; children: React.ReactNode }) {
  return (
    <div style={isWide ? { gridColumn: '1 / -1' } : undefined}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Copied({ text, label }: { text: string; label: string }) {
  return (
    <Group gap={4} wrap="nowrap" component="span">
      <span className="mono clip" title={text}>
        {text}
      </span>
      <CopyIconButton text={text} label={label} />
    </Group>
  )
}

/** What is being done with it, while it is not done. */
function Standing({ session }: { session: Session }) {
  if (session.status === 'uploading') {
    const { received = [], parts = [] } = session.upload ?? {}
    const total = received.length + parts.length
    return (
      <Alert variant="light" color="gray" title="The upload is not complete">
        {received.length} of {total} {total === 1 ? 'part' : 'parts'} have arrived and are kept. Choose the
        same file again under Sessions to go on, or continue it with the SDK or the command line.
        {total > 0 && (
          <Progress mt="sm" size="sm" value={(received.length / total) * 100} aria-label="Parts received" />
        )}
      </Alert>
    )
  }
  if (session.status === 'uploaded') {
    return (
      <Alert variant="light" title="Waiting">
        The recording has arrived whole. Processing is paused by the operator, and goes on with it later.
      </Alert>
    )
  }
  if (session.status === 'processing') {
    const { stage = 'waiting', fraction = 0 } = session.processing ?? {}
    return (
      <Alert variant="light" title={stage === 'waiting' ? 'Waiting for its turn' : `Processing: ${stage}`}>
        <Progress size="sm" value={fraction * 100} animated aria-label="Processing" />
      </Alert>
    )
  }
  return null
}

function Actions({ session }: { session: Session }) {
  const { mayWrite, ask, id } = useOrganisation()
  const [isAsking, setAsking] = useState(false)
  const client = useQueryClient()
  const again = useMutation({
    mutationFn: () => ask('POST', `/v1/sessions/${session.id}/reprocess`, {}),
    onSuccess: async () => {
      say('It is processed again.')
      await client.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[0] === id && queryKey[2] === session.id,
      })
    },
    onError: sayError,
  })
  const isOver = session.status === 'processed' || session.status === 'failed'
  return (
    <>
      <CopyTextButton text={curlFor(`/v1/sessions/${session.id}`)}>Copy as curl</CopyTextButton>
      {mayWrite && isOver && (
        <Button size="xs" variant="default" onClick={() => again.mutate()} loading={again.isPending}>
          Process again
        </Button>
      )}
      {mayWrite && (
        <Button size="xs" variant="default" c="var(--bad)" onClick={() => setAsking(true)}>
          Delete
        </Button>
      )}
      <DeleteSession session={session} isOpen={isAsking} onClose={() => setAsking(false)} />
    </>
  )
}

function curlFor(path: string): string {
  return `curl -H "Authorization: Bearer $TAPEDECK_API_KEY" ${location.origin}${path}`
}

function RawJson({ id }: { id: string }) {
  const organisation = useOrganisation()
  const { data: text, error } = useQuery(sessionTextQuery(organisation, id))
  if (error) return <Failure error={error} />
  if (text === undefined) return <Loading rows={4} />
  return (
    <Stack gap="sm">
      <Title order={2}>As the API gives it</Title>
      <Text c="dimmed" size="sm">
        <span className="mono">GET /v1/sessions/{id}</span>
      </Text>
      <CodeBlock code={indent(text)} label="JSON of the session" />
    </Stack>
  )
}

/** Laid out without reading its numbers, which may be longer than this page can hold exactly. */
function indent(json: string): string {
  let depth = 0
  const line = () => `\n${'  '.repeat(depth)}`
  return json.replace(/"(?:[^"\\]|\\.)*"|\[\]|\{\}|[[\]{},:]/g, (token) => {
    if (token === '{' || token === '[') {
      depth++
      return token + line()
    }
    if (token === '}' || token === ']') {
      depth--
      return line() + token
    }
    if (token === ',') return token + line()
    return token === ':' ? ': ' : token
  })
}
