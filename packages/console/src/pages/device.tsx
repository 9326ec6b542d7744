import { Button, Group, JsonInput, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { Calibration } from '@tapedeck/contract'
import { useState } from 'react'
import { useOrganisation } from '../api/organisation.ts'
import { calibrationQuery, devicesQuery } from '../api/queries.ts'
import { Refusal } from '../api/request.ts'
import { CodeBlock } from '../parts/copy.tsx'
import { Icon } from '../parts/icon.tsx'
import { say, sayError } from '../parts/messages.tsx'
import { Page } from '../parts/page.tsx'
import { Failure, Loading } from '../parts/states.tsx'
import { At } from '../parts/time.tsx'
import { Channels } from './devices.tsx'

export function DevicePage() {
  const { device: name } = useParams({ from: '/o/$organisation/devices/$device' })
  const organisation = useOrganisation()
  const { data: devices } = useQuery(devicesQuery(organisation))
  const device = devices?.find((candidate) => candidate.name === name)
  return (
    <Page
      title={name}
      back={
        <Link className="quiet" to="/o/$organisation/devices" params={{ organisation: organisation.slug }}>
          <Group gap={2} component="span">
            <Icon name="back" size={14} /> Devices
          </Group>
        </Link>
      }
      actions={
        <Link
          to="/o/$organisation/sessions"
          params={{ organisation: organisation.slug }}
          search={{ device: name }}
        >
          Its sessions
        </Link>
      }
    >
      <Stack gap="xl">
        <section>
          <Title order={2} mb="xs">
            Usually sends
          </Title>
          {device && device.channels.length > 0 ? (
            <Channels names={device.channels} most={200} />
          ) : (
            <Text c="dimmed">Nothing of it was processed yet.</Text>
          )}
        </section>
        <section>
          <Title order={2} mb="xs">
            Calibration
          </Title>
          <StoredCalibration device={name} />
        </section>
      </Stack>
    </Page>
  )
}

const example = JSON.stringify(
  { channels: [{ source: '/imu/data', rate_hz: 200, clock_offset_ns: 0 }] },
  null,
  2,
)

function StoredCalibration({ device }: { device: string }) {
  const organisation = useOrganisation()
  const client = useQueryClient()
  const { data: calibration, error, isPending } = useQuery(calibrationQuery(organisation, device))
  const [text, setText] = useState<string>()
  const store = useMutation({
    mutationFn: (body: unknown) =>
      organisation.ask<Calibration>('PUT', `/v1/devices/${encodeURIComponent(device)}/calibration`, body),
    async onSuccess({ version }) {
      say(`Version ${version} is stored. Sessions processed from now on use it.`)
      setText(undefined)
      await client.invalidateQueries({ queryKey: [organisation.id] })
    },
    onError: sayError,
  })
  if (isPending) return <Loading rows={3} />
  const isNone = error instanceof Refusal && error.code === 'device_not_found'
  if (error && !isNone) return <Failure error={error} />
  const stored = calibration ? JSON.stringify({ channels: calibration.channels }, null, 2) : ''
  if (text !== undefined) {
    return (
      <Stack gap="sm" maw={760}>
        <JsonInput
          label="What is known of each channel"
          value={text}
          onChange={setText}
          autosize
          minRows={8}
          maxRows={30}
          formatOnBlur
          validationError="This is not JSON"
        />
        <Group>
          <Button loading={store.isPending} onClick={() => store.mutate(readJson(text))}>
            Store as a new version
          </Button>
          <Button variant="default" onClick={() => setText(undefined)}>
            Cancel
          </Button>
        </Group>
      </Stack>
    )
  }
  return (
    <Stack gap="sm" maw={760} align="stretch">
      {calibration ? (
        <>
          <Text c="dimmed" size="sm">
            Version {calibration.version}, stored <At at={calibration.created_at} />
          </Text>
          <CodeBlock code={stored} label="calibration" />
        </>
      ) : (
        <Text c="dimmed">
          None is stored. With one, its channels get your names, and their rates and clocks are judged by it.
        </Text>
      )}
      {organisation.mayWrite && (
        <Button
          variant="default"
          style={{ alignSelf: 'flex-start' }}
          onClick={() => setText(stored || example)}
        >
          {calibration ? 'Change' : 'Store a calibration'}
        </Button>
      )}
    </Stack>
  )
}

/** What is no JSON goes as an empty object, and the service says what is missing. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
