import { Autocomplete, Button, Group, Select, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useOrganisation } from '../api/organisation.ts'
import { devicesQuery, type Filters, sitesQuery } from '../api/queries.ts'

// Filters stand in the address of the page: a link shows others what one sees.

export type FiltersInUse<Name extends string> = {
  filters: Filters
  isFiltered: boolean
  clear: () => void
  /** What a filter of this name shows, and how it changes. */
  use(name: Name): { value: string; onChange: (value: string) => void }
}

export function useFilters<Name extends string>(names: readonly Name[]): FiltersInUse<Name> {
  const search = useSearch({ strict: false }) as Filters
  const navigate = useNavigate()
  const filters: Filters = Object.fromEntries(
    names.map((name) => [name, search[name] ?? '']).filter(([, value]) => value !== ''),
  )
  return {
    filters,
    isFiltered: Object.keys(filters).length > 0,
    clear: () => void navigate({ to: '.', search: {}, replace: true }),
    use: (name) => ({
      value: filters[name] ?? '',
      onChange: (value) =>
        void navigate({ to: '.', search: (before) => ({ ...before, [name]: value }), replace: true }),
    }),
  }
}

/** What can be chosen: the sites and devices there are, and the channels that they send. */
export function useChoices() {
  const organisation = useOrganisation()
  const { data: sites = [] } = useQuery(sitesQuery(organisation))
  const { data: devices = [] } = useQuery(devicesQuery(organisation))
  return {
    sites: sites.map(({ name }) => name),
    devices: devices.map(({ name }) => name),
    channels: [...new Set(devices.flatMap((device) => device.channels))].sort(),
  }
}

type Common = { label: string; value: string; onChange: (value: string) => void; width?: number }

export function ChoiceFilter({ label, value, onChange, data, width = 150 }: Common & { data: string[] }) {
  return (
    <Select
      aria-label={label}
      placeholder={label}
      data={value !== '' && !data.includes(value) ? [value, ...data] : data}
      value={value === '' ? null : value}
      onChange={(chosen) => onChange(chosen ?? '')}
      clearable
      clearButtonProps={{ 'aria-label': `Any ${label}` }}
      searchable
      size="xs"
      w={width}
      comboboxProps={{ width: 'max-content', position: 'bottom-start' }}
    />
  )
}

const TYPING_MS = 350

/** Asked for when typing rests. */
export function TextFilter({ label, value, onChange, data, width = 160 }: Common & { data?: string[] }) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => onChange(text.trim()), TYPING_MS)
    return () => clearTimeout(timer)
  }, [text, value, onChange])
  const common = { 'aria-label': label, placeholder: label, value: text, size: 'xs', w: width } as const
  return data ? (
    <Autocomplete {...common} data={data} onChange={setText} limit={50} />
  ) : (
    <TextInput {...common} onChange={(event) => setText(event.currentTarget.value)} />
  )
}

/** A day in the time of the browser, as the moment at which it begins. */
export function DayFilter({ label, value, onChange }: Common) {
  const day = value === '' ? '' : toDay(new Date(value))
  const [isOpen, setOpen] = useState(false)
  return (
    <TextInput
      // An empty field of dates says only what dates look like: until it is used, it says what it is for.
      type={isOpen || day !== '' ? 'date' : 'text'}
      aria-label={label}
      placeholder={label}
      onFocus={() => setOpen(true)}
      onBlur={() => setOpen(false)}
      size="xs"
      w={138}
      value={day}
      onChange={(event) => {
        const chosen = event.currentTarget.value
        onChange(chosen === '' ? '' : new Date(`${chosen}T00:00:00`).toISOString())
      }}
    />
  )
}

function toDay(date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

export function FilterBar({
  isFiltered,
  onClear,
  children,
}: {
  isFiltered: boolean
  onClear: () => void
  children: React.ReactNode
}) {
  return (
    <Group gap={8} mb="md" role="search">
      {children}
      {isFiltered && (
        <Button variant="subtle" color="gray" size="xs" onClick={onClear}>
          Clear
        </Button>
      )}
    </Group>
  )
}
