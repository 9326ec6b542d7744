import {
  ActionIcon,
  AppShell,
  Burger,
  Group,
  Menu,
  Stack,
  Text,
  UnstyledButton,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link, useNavigate } from '@tanstack/react-router'
import type { Me } from '@tapedeck/contract'
import type { ReactNode } from 'react'
import { slugOf, useOrganisation } from '../api/organisation.ts'
import { queryClient } from '../api/query-client.ts'
import { askFor } from '../api/request.ts'
import { Icon } from './icon.tsx'
import { sayError } from './messages.tsx'

/** The frame of every page: where you are, where you can go. */
export function Shell({ me, children }: { me: Me; children: ReactNode }) {
  const [isOpen, { toggle, close }] = useDisclosure()
  return (
    <AppShell
      navbar={{ width: 216, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      header={{ height: { base: 52, sm: 0 } }}
      padding={0}
      withBorder={false}
    >
      <AppShell.Header hiddenFrom="sm" style={{ borderBottom: '1px solid var(--line)' }}>
        <Group h="100%" px="md">
          <Burger opened={isOpen} onClick={toggle} size="sm" aria-label="Navigation" />
          <Text fw={600}>Tapedeck</Text>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" bg="var(--surface)" style={{ borderRight: '1px solid var(--line)' }}>
        <OrganisationMenu me={me} />
        <Stack component="nav" gap={2} mt="md" flex={1} onClick={close} aria-label="Pages">
          <Pages />
        </Stack>
        <AccountMenu me={me} />
      </AppShell.Navbar>
      <AppShell.Main>{children}</AppShell.Main>
    </AppShell>
  )
}

function Pages() {
  const { slug, isOwner } = useOrganisation()
  const params = { organisation: slug }
  return (
    <>
      <Link className="nav" to="/o/$organisation/sessions" params={params}>
        <Icon name="tape" /> Sessions
      </Link>
      <Link className="nav" to="/o/$organisation/segments" params={params}>
        <Icon name="segments" /> Segments
      </Link>
      <Link className="nav" to="/o/$organisation/devices" params={params}>
        <Icon name="device" /> Devices and sites
      </Link>
      <Text size="xs" c="dimmed" px={10} pt="md" pb={4}>
        Developers
      </Text>
      <Link className="nav" to="/o/$organisation/keys" params={params}>
        <Icon name="key" /> API keys
      </Link>
      <Link className="nav" to="/o/$organisation/webhooks" params={params}>
        <Icon name="webhook" /> Webhooks
      </Link>
      <Link className="nav" to="/o/$organisation/api" params={params}>
        <Icon name="code" /> API
      </Link>
      <Text size="xs" c="dimmed" px={10} pt="md" pb={4}>
        Team
      </Text>
      <Link className="nav" to="/o/$organisation/members" params={params}>
        <Icon name="people" /> Members
      </Link>
      {isOwner && (
        <Link className="nav" to="/o/$organisation/audit-log" params={params}>
          <Icon name="log" /> Audit log
        </Link>
      )}
    </>
  )
}

function OrganisationMenu({ me }: { me: Me }) {
  const { name, isSandbox } = useOrganisation()
  const navigate = useNavigate()
  const go = (to: string) => void navigate({ to: '/o/$organisation/sessions', params: { organisation: to } })
  return (
    <Menu width={240} position="bottom-start">
      <Menu.Target>
        <UnstyledButton className="nav">
          <span style={{ color: 'var(--mantine-primary-color-filled)', display: 'flex' }}>
            <Icon name="tape" size={22} />
          </span>
          <Text fw={600} c="var(--mantine-color-text)" className="clip" flex={1}>
            {name}
          </Text>
          {isSandbox && (
            <span className="pill" data-tone="warn">
              sandbox
            </span>
          )}
          <Icon name="chevron" size={14} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        {me.organisations.map((organisation) => (
          <div key={organisation.id}>
            <Menu.Item onClick={() => go(slugOf(organisation.name))}>{organisation.name}</Menu.Item>
            <Menu.Item onClick={() => go(slugOf(organisation.name, true))} c="dimmed">
              {organisation.name}: sandbox
            </Menu.Item>
          </div>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

function AccountMenu({ me }: { me: Me }) {
  const navigate = useNavigate()
  const leave = async (path: string) => {
    try {
      await askFor('')('POST', path, {})
      queryClient.clear()
      await navigate({ to: '/sign-in' })
    } catch (error) {
      sayError(error)
    }
  }
  return (
    <Group gap={4} wrap="nowrap">
      <Menu width={220} position="top-start">
        <Menu.Target>
          <UnstyledButton className="nav" flex={1} miw={0}>
            <Stack gap={0} miw={0} flex={1}>
              <Text size="sm" c="var(--mantine-color-text)" className="clip">
                {me.name}
              </Text>
              <Text size="xs" c="dimmed" className="clip">
                {me.email}
              </Text>
            </Stack>
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => void navigate({ to: '/account' })}>Account</Menu.Item>
          <Menu.Item onClick={() => void leave('/console/api/sign_out')}>Sign out</Menu.Item>
          <Menu.Item onClick={() => void leave('/console/api/sign_out_everywhere')}>
            Sign out everywhere
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ThemeButton />
    </Group>
  )
}

export function ThemeButton() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const isDark =
    colorScheme === 'dark' || (colorScheme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches)
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={isDark ? 'Light theme' : 'Dark theme'}
      onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
    >
      {isDark ? <Icon name="sun" /> : <Icon name="moon" />}
    </ActionIcon>
  )
}
