import {
  DEFAULT_PAGE_SIZE,
  type Device,
  type DeviceList,
  type ListByName,
  type Site,
  type SiteList,
} from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import { readNameCursor, toNamePage } from '../cursor.ts'
import type { Db } from '../db/database.ts'
import type { Keys } from '../secrets.ts'

// Devices and sites are what sessions name: they exist by being recorded. Listed by name.

type Deps = { db: Db; cursorKeys: Keys }

type Row = { name: string; session_count: number; first_created_at: Date; last_created_at: Date }

export async function listSites(
  { db, cursorKeys }: Deps,
  caller: Caller,
  input: ListByName,
): Promise<SiteList> {
  const { limit = DEFAULT_PAGE_SIZE, cursor } = input
  const identity = ['sites', caller.organisationId]
  const after = readNameCursor(cursorKeys, identity, cursor)
  const { rows } = await sql<Row>`
    select site.name, count(*) as session_count,
      min(sessions.created_at) as first_created_at, max(sessions.created_at) as last_created_at
    from (select name from sites where organisation_id = ${caller.organisationId} and name > ${after}
      and exists (select 1 from sessions where organisation_id = sites.organisation_id and site = sites.name)
      order by name limit ${limit + 1}) site
    join sessions on sessions.organisation_id = ${caller.organisationId} and sessions.site = site.name
    group by site.name order by site.name`.execute(db)
  return toNamePage(
    cursorKeys,
    identity,
    rows,
    limit,
    (row): Site => ({ object: 'site', name: row.name, ...recorded(row) }),
  )
}

type DeviceRow = Row & { calibration_version: number | null; channels: string[] | null }

export async function listDevices(
  { db, cursorKeys }: Deps,
  caller: Caller,
  input: ListByName,
): Promise<DeviceList> {
  const { limit = DEFAULT_PAGE_SIZE, cursor } = input
  const identity = ['devices', caller.organisationId]
  const after = readNameCursor(cursorKeys, identity, cursor)
  // Distinct devices one index step each, however many sessions they have.
  const { rows } = await sql<DeviceRow>`
    with recursive device as (
      (select device as name from sessions where organisation_id = ${caller.organisationId} and device > ${after}
        order by device limit 1)
      union all
      select (select device from sessions where organisation_id = ${caller.organisationId} and device > device.name
        order by device limit 1)
      from device where device.name is not null
    ), page as (select name from device where name is not null limit ${limit + 1})
    select page.name, count(*) as session_count,
      min(sessions.created_at) as first_created_at, max(sessions.created_at) as last_created_at,
      (select max(version) from calibrations
        where organisation_id = ${caller.organisationId} and device = page.name) as calibration_version,
      (select channels from sessions where organisation_id = ${caller.organisationId} and device = page.name
        and status = 'processed' order by created_at desc limit 1) as channels
    from page join sessions on sessions.organisation_id = ${caller.organisationId} and sessions.device = page.name
    group by page.name order by page.name`.execute(db)
  return toNamePage(
    cursorKeys,
    identity,
    rows,
    limit,
    (row): Device => ({
      object: 'device',
      name: row.name,
      ...recorded(row),
      calibration_version: row.calibration_version,
      channels: row.channels ?? [],
    }),
  )
}

function recorded(row: Row): Pick<Site, 'session_count' | 'first_created_at' | 'last_created_at'> {
  return {
    session_count: row.session_count,
    first_created_at: row.first_created_at.toISOString(),
    last_created_at: row.last_created_at.toISOString(),
  }
}
