import { Button, Group, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { MIN_PASSWORD_CHARACTERS } from '@tapedeck/contract'
import type { FormEvent } from 'react'
import { meQuery } from '../api/queries.ts'
import { queryClient } from '../api/query-client.ts'
import { askFor } from '../api/request.ts'
import { say, sayError } from '../parts/messages.tsx'
import { Page } from '../parts/page.tsx'
import { Failure, Loading } from '../parts/states.tsx'

const ask = askFor('')

export function AccountPage() {
  const { data: me, error, refetch } = useQuery(meQuery)
  if (error) return <Failure error={error} onRetry={() => void refetch()} />
  if (!me) return <Loading />
  return (
    <Page title="Account" lead={`${me.name}, ${me.email}`}>
      <Stack gap="xl" maw={460}>
        <section>
          <Title order={2} mb="xs">
            Organisations
          </Title>
          {me.organisations.length === 0 && (
            <Text c="dimmed">
              You belong to none yet. Ask an owner for an invitation link and open it here.
            </Text>
          )}
          {me.organisations.map(({ id, name, role }) => (
            <Group key={id} justify="space-between" py={6}>
              <Link to="/o/$organisation/sessions" params={{ organisation: name }}>
                {name}
              </Link>
              <Text c="dimmed">{role}</Text>
            </Group>
          ))}
        </section>
        <ChangePassword />
        <section>
          <Title order={2} mb="xs">
            Sign out
          </Title>
          <SignOut />
        </section>
      </Stack>
    </Page>
  )
}

function ChangePassword() {
  const change = useMutation({
    mutationFn: (body: object) => ask('POST', '/console/api/password', body),
    onSuccess: () => say('Your password is changed. Every other browser was signed out.'),
    onError: sayError,
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    const values = new FormData(form)
    const body = { current_password: values.get('current'), new_password: values.get('new') }
    change.mutate(body, { onSuccess: () => form.reset() })
  }
  return (
    <section>
      <Title order={2} mb="xs">
        Password
      </Title>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <PasswordInput name="current" label="Current password" autoComplete="current-password" required />
          <PasswordInput
            name="new"
            label="New password"
            description={`At least ${MIN_PASSWORD_CHARACTERS} characters`}
            autoComplete="new-password"
            minLength={MIN_PASSWORD_CHARACTERS}
            required
          />
          <Button
            type="submit"
            variant="default"
            loading={change.isPending}
            style={{ alignSelf: 'flex-start' }}
          >
            Change password
          </Button>
        </Stack>
      </form>
    </section>
  )
}

function SignOut() {
  const leave = useMutation({
    mutationFn: (path: string) => ask('POST', path, {}),
    onSuccess: () => {
      queryClient.clear()
      location.assign('/console/sign-in')
    },
    onError: sayError,
  })
  return (
    <Group>
      <Button variant="default" onClick={() => leave.mutate('/console/api/sign_out')}>
        Sign out here
      </Button>
      <Button variant="default" onClick={() => leave.mutate('/console/api/sign_out_everywhere')}>
        Sign out everywhere
      </Button>
    </Group>
  )
}
