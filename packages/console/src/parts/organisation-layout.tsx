import { useQuery } from '@tanstack/react-query'
import { Outlet, useParams } from '@tanstack/react-router'
import { findOrganisation, OrganisationContext } from '../api/organisation.ts'
import { meQuery } from '../api/queries.ts'
import { UploadsProvider } from '../upload/uploads.tsx'
import { Shell } from './shell.tsx'
import { Empty, Failure, Loading } from './states.tsx'

/** All pages of one organisation: they are shown to its members, and ask in its name. */
export function OrganisationLayout() {
  const { organisation: slug } = useParams({ from: '/o/$organisation' })
  const { data: me, error, refetch } = useQuery(meQuery)
  if (error && !me) return <Failure error={error} onRetry={() => void refetch()} />
  if (!me) return <Loading />
  const organisation = findOrganisation(me, slug)
  return (
    <OrganisationContext value={organisation}>
      {organisation ? (
        <UploadsProvider key={organisation.id}>
          <Shell me={me}>
            <Outlet />
          </Shell>
        </UploadsProvider>
      ) : (
        <Empty title={`You are not a member of ${slug}`}>
          Ask one of its owners for an invitation, or <a href="/console">go to your own organisation</a>.
        </Empty>
      )}
    </OrganisationContext>
  )
}
