import { Alert, Button, Loader, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { type InvitationPreview, type Joined, MIN_PASSWORD_CHARACTERS } from '@tapedeck/contract'
import { type FormEvent, useState } from 'react'
import { meQuery, signInOptionsQuery } from '../api/queries.ts'
import { queryClient } from '../api/query-client.ts'
import { askFor } from '../api/request.ts'
import { useTitle } from '../parts/page.tsx'
import { FrontPage } from './sign-in.tsx'

const ask = askFor('')

/** The link of an invitation. Its token stands behind the #, which no server sees. */
export function JoinPage() {
  useTitle('Join')
  const token = useLocation().hash
  const { data: invitation, error } = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => ask<InvitationPreview>('POST', '/console/api/invitation_preview', { token }),
    retry: false,
  })
  const { data: me, isPending } = useQuery({ ...meQuery, retry: false })
  if (error) {
    return (
      <FrontPage title="This link does not work">
        <Text>{error.message}</Text>
        <a href="/console">To the console</a>
      </FrontPage>
    )
  }
  if (!invitation || isPending) {
    return (
      <FrontPage title="One moment">
        <Loader mx="auto" aria-label="Loading" />
      </FrontPage>
    )
  }
  return (
    <FrontPage title={`Join ${invitation.organisation}`}>
      <Text c="dimmed" ta="center">
        You become {invitation.role === 'owner' ? 'an owner' : `a ${invitation.role}`} of it.
      </Text>
      {me ? <JoinAs email={me.email} token={token} /> : <NewAccount token={token} />}
    </FrontPage>
  )
}

function useJoining() {
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const join = async (path: string, body: object) => {
    setBusy(true)
    setProblem('')
    try {
      const { organisation } = await ask<Joined>('POST', path, body)
      queryClient.clear()
      location.assign(`/console/o/${organisation}/sessions`)
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
      setBusy(false)
    }
  }
  return { problem, isBusy, join }
}

function NewAccount({ token }: { token: string }) {
  const { problem, isBusy, join } = useJoining()
  const { data: options } = useQuery(signInOptionsQuery)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const [name, email, password] = [form.get('name'), form.get('email'), form.get('password')]
    void join('/console/api/join', { token, name, email, password })
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        {problem && (
          <Alert variant="light" color="red" role="alert">
            {problem}
          </Alert>
        )}
        <TextInput name="name" label="Name" autoComplete="name" required maxLength={255} />
        <TextInput name="email" type="email" label="Email" autoComplete="username" required />
        <PasswordInput
          name="password"
          label="Password"
          description={`At least ${MIN_PASSWORD_CHARACTERS} characters`}
          autoComplete="new-password"
          minLength={MIN_PASSWORD_CHARACTERS}
          required
        />
        <Button type="submit" size="md" mt="xs" loading={isBusy}>
          Create account
        </Button>
        <Text size="xs" c="dimmed" ta="center">
          You have an account{options?.elsewhere ? ` or use ${options.elsewhere}` : ''}?{' '}
          <a href="/console/sign-in">Sign in</a>, then open this link again.
        </Text>
      </Stack>
    </form>
  )
}

function JoinAs({ email, token }: { email: string; token: string }) {
  const { problem, isBusy, join } = useJoining()
  return (
    <Stack gap="sm">
      {problem && (
        <Alert variant="light" color="red" role="alert">
          {problem}
        </Alert>
      )}
      <Button size="md" loading={isBusy} onClick={() => void join('/console/api/join/account', { token })}>
        Join as {email}
      </Button>
    </Stack>
  )
}
