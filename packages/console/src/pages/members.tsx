import { Button, Group, Modal, Select, Stack, Text, TextInput, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { CreatedInvitation, CreateInvitation, Invitation, Member, Role } from '@tapedeck/contract'
import { type FormEvent, useState } from 'react'
import { useOrganisation } from '../api/organisation.ts'
import { invitationsQuery, membersQuery, meQuery } from '../api/queries.ts'
import { Confirm } from '../parts/confirm.tsx'
import { say, sayError } from '../parts/messages.tsx'
import { Page } from '../parts/page.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { Failure, Loading } from '../parts/states.tsx'
import { Pill } from '../parts/status.tsx'
import { Table } from '../parts/table.tsx'
import { Ago } from '../parts/time.tsx'

const roles: Record<Role, string> = {
  owner: 'everything, members and the audit log too',
  member: 'upload, delete, keys and webhooks',
  viewer: 'look only',
}
const roleNames = Object.keys(roles) as Role[]

export function MembersPage() {
  const organisation = useOrganisation()
  const members = useQuery(membersQuery(organisation))
  const [isInviting, setInviting] = useState(false)
  const [made, setMade] = useState<CreatedInvitation>()
  return (
    <Page
      title="Members"
      lead={`Who belongs to ${organisation.name} and its sandbox.`}
      actions={organisation.isOwner && <Button onClick={() => setInviting(true)}>Invite</Button>}
    >
      {made && (
        <ShownOnce title={`An invitation for ${made.label}`} secret={made.url}>
          Send this link; it works once, for 7 days.
        </ShownOnce>
      )}
      {members.error && !members.data && (
        <Failure error={members.error} onRetry={() => void members.refetch()} />
      )}
      {members.isPending && <Loading rows={3} />}
      {members.data && <MemberTable members={members.data} />}
      {organisation.isOwner && <Invitations />}
      <Invite isOpen={isInviting} onClose={() => setInviting(false)} onMade={setMade} />
    </Page>
  )
}

function MemberTable({ members }: { members: Member[] }) {
  return (
    <Table name="members" titles={['Name', 'Email', 'Role', 'Since']} hasActions>
      {members.map((member) => (
        <MemberRow key={member.id} member={member} />
      ))}
    </Table>
  )
}

function MemberRow({ member }: { member: Member }) {
  const { ask, id, isOwner } = useOrganisation()
  const { data: me } = useQuery(meQuery)
  const client = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const refresh = async () => {
    await client.invalidateQueries({ queryKey: [id, 'members'] })
    await client.invalidateQueries({ queryKey: ['me'] })
  }
  const change = useMutation({
    mutationFn: (role: Role) => ask('PATCH', `/console/api/members/${member.id}`, { role }),
    onSuccess: refresh,
    onError: sayError,
  })
  const remove = useMutation({
    mutationFn: () => ask('DELETE', `/console/api/members/${member.id}`),
    onSuccess: async () => {
      setAsking(false)
      say(`${member.email} is no longer a member.`)
      await refresh()
    },
    onError: sayError,
  })
  const isMe = me?.id === member.id
  return (
    <tr>
      <td style={{ maxWidth: 240 }}>
        <div className="clip">{member.name}</div>
      </td>
      <td style={{ maxWidth: 280 }}>
        <div className="clip">
          {member.email} {isMe && <Pill>you</Pill>}
        </div>
      </td>
      <td>
        {isOwner ? (
          <Select
            aria-label={`Role of ${member.email}`}
            size="xs"
            w={120}
            data={roleNames}
            value={member.role}
            allowDeselect={false}
            onChange={(role) => role && role !== member.role && change.mutate(role)}
          />
        ) : (
          member.role
        )}
      </td>
      <td>
        <Ago at={member.created_at} />
      </td>
      <td style={{ textAlign: 'right' }}>
        {(isOwner || isMe) && (
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => setAsking(true)}
            aria-label={isMe ? 'Leave' : `Remove ${member.email}`}
          >
            {isMe ? 'Leave' : 'Remove'}
          </Button>
        )}
        <Confirm
          isOpen={isAsking}
          onClose={() => setAsking(false)}
          title={isMe ? 'Leave the organisation?' : 'Remove this member?'}
          action={isMe ? 'Leave' : 'Remove'}
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate()}
        >
          {member.email} can see nothing of it any more from that moment on. Keys that they made go on
          working: revoke those that should not.
        </Confirm>
      </td>
    </tr>
  )
}

function Invitations() {
  const organisation = useOrganisation()
  const client = useQueryClient()
  const { data: invitations = [] } = useQuery(invitationsQuery(organisation))
  const withdraw = useMutation({
    mutationFn: ({ id }: Invitation) => organisation.ask('DELETE', `/console/api/invitations/${id}`),
    onSuccess: () => client.invalidateQueries({ queryKey: [organisation.id, 'invitations'] }),
    onError: sayError,
  })
  if (invitations.length === 0) return null
  return (
    <section>
      <Title order={2} mt="xl" mb="sm">
        Open invitations
      </Title>
      <Table name="invitations" titles={['For', 'Role', 'By', 'Made']} hasActions>
        {invitations.map((invitation) => (
          <tr key={invitation.id}>
            <td style={{ maxWidth: 260 }}>
              <div className="clip">{invitation.label}</div>
            </td>
            <td>{invitation.role}</td>
            <td>{invitation.invited_by}</td>
            <td>
              <Ago at={invitation.created_at} />
            </td>
            <td style={{ textAlign: 'right' }}>
              <Button
                size="compact-xs"
                variant="default"
                onClick={() => withdraw.mutate(invitation)}
                aria-label={`Withdraw the invitation for ${invitation.label}`}
              >
                Withdraw
              </Button>
            </td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function Invite({
  isOpen,
  onClose,
  onMade,
}: {
  isOpen: boolean
  onClose: () => void
  onMade: (made: CreatedInvitation) => void
}) {
  const { ask, id, name } = useOrganisation()
  const client = useQueryClient()
  const [role, setRole] = useState<Role>('member')
  const invite = useMutation({
    mutationFn: (body: CreateInvitation) => ask<CreatedInvitation>('POST', '/console/api/invitations', body),
    async onSuccess(made) {
      onMade(made)
      onClose()
      await client.invalidateQueries({ queryKey: [id, 'invitations'] })
    },
    onError: sayError,
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    invite.mutate({ role, label: String(new FormData(event.currentTarget).get('label')).trim() })
  }
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={`Invite to ${name}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form onSubmit={submit}>
        <Stack gap="md">
          <TextInput
            name="label"
            label="For whom"
            description="A name or an address, so that you recognise the link"
            required
            maxLength={255}
            data-autofocus
          />
          <Select
            label="Role"
            data={roleNames}
            value={role}
            allowDeselect={false}
            onChange={(chosen) => chosen && setRole(chosen)}
          />
          <Text size="sm" c="dimmed">
            May: {roles[role]}.
          </Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={invite.isPending}>
              Make the link
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
