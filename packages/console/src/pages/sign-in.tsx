import { Alert, Button, Center, Divider, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useState } from 'react'
import { signInOptionsQuery } from '../api/queries.ts'
import { askFor } from '../api/request.ts'
import { Icon } from '../parts/icon.tsx'
import { useTitle } from '../parts/page.tsx'

const ask = askFor('')

export function SignInPage() {
  useTitle('Sign in')
  const { return_to = '/console', error } = useSearch({ strict: false })
  const { data: options } = useQuery(signInOptionsQuery)
  const [problem, setProblem] = useState(error ? 'Signing in did not work. Try again.' : '')
  const [isBusy, setBusy] = useState(false)

  const attempt = async (work: () => Promise<string>) => {
    setBusy(true)
    setProblem('')
    try {
      location.assign(await work())
    } catch (thrown) {
      setProblem(thrown instanceof Error ? thrown.message : String(thrown))
      setBusy(false)
    }
  }
  const signIn = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    void attempt(async () => {
      await ask('POST', '/console/api/sign_in', { email: form.get('email'), password: form.get('password') })
      return ownPage(return_to)
    })
  }
  const signInElsewhere = () =>
    void attempt(async () => {
      const body = { return_to: ownPage(return_to) }
      return (await ask<{ url: string }>('POST', '/console/api/sign_in/elsewhere', body)).url
    })

  return (
    <FrontPage title="Sign in to Tapedeck">
      {options?.needs_first_account && (
        <Alert variant="light" color="ink" title="Nobody has an account yet">
          The service printed a link when it started. It makes the first account; open it in this browser.
        </Alert>
      )}
      {problem && (
        <Alert variant="light" color="red" role="alert">
          {problem}
        </Alert>
      )}
      {options?.elsewhere && (
        <>
          <Button variant="default" size="md" onClick={signInElsewhere} loading={isBusy}>
            Continue with {options.elsewhere}
          </Button>
          <Divider label="or" />
        </>
      )}
      <form onSubmit={signIn}>
        <Stack gap="sm">
          <TextInput name="email" type="email" label="Email" autoComplete="username" required />
          <PasswordInput name="password" label="Password" autoComplete="current-password" required />
          <Button type="submit" size="md" mt="xs" loading={isBusy}>
            Sign in
          </Button>
        </Stack>
      </form>
      <Text size="xs" c="dimmed" ta="center">
        New here? An owner of your organisation can send you an invitation link.
      </Text>
    </FrontPage>
  )
}

export function FrontPage({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Center mih="100vh" p="md" bg="var(--surface)">
      <main style={{ width: 'min(380px, 100%)' }}>
        <Stack gap="lg">
          <Stack gap={6} align="center">
            <span style={{ color: 'var(--mantine-primary-color-filled)' }}>
              <Icon name="tape" size={44} />
            </span>
            <Title order={1} ta="center">
              {title}
            </Title>
          </Stack>
          <Stack gap="md" p="xl" className="card">
            {children}
          </Stack>
        </Stack>
      </main>
    </Center>
  )
}

/** Only pages of the console are gone to, whatever the address says. */
function ownPage(path: string): string {
  return /^\/console(\/[A-Za-z0-9._~%/?=&-]*)?$/.test(path) ? path : '/console'
}
