import { Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Device, Site } from '@tapedeck/contract'
import { useOrganisation } from '../api/organisation.ts'
import { devicesQuery, sitesQuery } from '../api/queries.ts'
import { formatCount } from '../parts/format.ts'
import { Icon } from '../parts/icon.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { Pill } from '../parts/status.tsx'
import { Table } from '../parts/table.tsx'
import { Ago } from '../parts/time.tsx'
import { colourOfKind } from '../timeline/colours.ts'

export function DevicesPage() {
  const organisation = useOrganisation()
  const devices = useQuery(devicesQuery(organisation))
  const sites = useQuery(sitesQuery(organisation))
  return (
    <Page title="Devices and sites" lead="What recorded, and where. They appear with their first session.">
      <Title order={2} mb="sm">
        Devices
      </Title>
      {devices.error && <Failure error={devices.error} onRetry={() => void devices.refetch()} />}
      {devices.isPending && <Loading rows={3} />}
      {devices.data?.length === 0 && (
        <Empty icon={<Icon name="device" size={40} />} title="No device has recorded yet" />
      )}
      {devices.data && devices.data.length > 0 && <DeviceTable devices={devices.data} />}
      <Title order={2} mb="sm" mt="xl">
        Sites
      </Title>
      {sites.error && <Failure error={sites.error} onRetry={() => void sites.refetch()} />}
      {sites.data?.length === 0 && <Text c="dimmed">None yet.</Text>}
      {sites.data && sites.data.length > 0 && <SiteTable sites={sites.data} />}
    </Page>
  )
}

function DeviceTable({ devices }: { devices: Device[] }) {
  const { slug } = useOrganisation()
  return (
    <Table name="devices" titles={['Device', 'Usually sends', 'Calibration', 'Sessions', 'Last session']}>
      {devices.map((device) => (
        <tr key={device.name} className="link">
          <td style={{ maxWidth: 220 }}>
            <Link
              className="quiet"
              to="/o/$organisation/devices/$device"
              params={{ organisation: slug, device: device.name }}
            >
              <Text size="sm" fw={500} className="clip">
                {device.name}
              </Text>
            </Link>
          </td>
          <td>
            <Channels names={device.channels} />
          </td>
          <td>
            {device.calibration_version === null ? (
              '–'
            ) : (
              <Pill tone="good">version {device.calibration_version}</Pill>
            )}
          </td>
          <td className="numbers">
            <Link
              to="/o/$organisation/sessions"
              params={{ organisation: slug }}
              search={{ device: device.name }}
            >
              {formatCount(device.session_count)}
            </Link>
          </td>
          <td>
            <Ago at={device.last_created_at} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

const MOST_CHANNELS = 8

export function Channels({ names, most = MOST_CHANNELS }: { names: string[]; most?: number }) {
  return (
    <span style={{ display: 'flex', gap: 4, flexWrap: 'wrap' }}>
      {names.slice(0, most).map((name) => (
        <span key={name} className="pill" style={{ maxWidth: 220 }} title={name}>
          <span
            className="dot"
            style={{ background: colourOfKind(name.split('/')[0] ?? ''), flex: 'none' }}
          />
          <span className="clip">{name}</span>
        </span>
      ))}
      {names.length > most && <Pill>+{names.length - most}</Pill>}
    </span>
  )
}

function SiteTable({ sites }: { sites: Site[] }) {
  const { slug } = useOrganisation()
  return (
    <Table name="sites" titles={['Site', 'Sessions', 'First session', 'Last session']}>
      {sites.map((site) => (
        <tr key={site.name}>
          <td style={{ maxWidth: 300 }}>
            <Link
              className="quiet"
              to="/o/$organisation/sessions"
              params={{ organisation: slug }}
              search={{ site: site.name }}
            >
              <Text size="sm" fw={500} className="clip">
                {site.name}
              </Text>
            </Link>
          </td>
          <td className="numbers">{formatCount(site.session_count)}</td>
          <td>
            <Ago at={site.first_created_at} />
          </td>
          <td>
            <Ago at={site.last_created_at} />
          </td>
        </tr>
      ))}
    </Table>
  )
}
