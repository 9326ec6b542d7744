import { useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useSyncExternalStore } from 'react'
import { useOrganisation } from '../api/organisation.ts'
import { openQueue, type Queue, type Upload } from './queue.ts'

const QueueContext = createContext<Queue | undefined>(undefined)

/** The uploads of one organisation; they go on while one looks at other pages of it. */
export function UploadsProvider({ children }: { children: ReactNode }) {
  const { id } = useOrganisation()
  const client = useQueryClient()
  const queue = useMemo(
    () => openQueue(id, () => void client.invalidateQueries({ queryKey: [id, 'sessions'] })),
    [id, client],
  )
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => queue.isBusy() && event.preventDefault()
    window.addEventListener('beforeunload', warn)
    return () => {
      window.removeEventListener('beforeunload', warn)
      queue.pauseAll()
    }
  }, [queue])
  return <QueueContext value={queue}>{children}</QueueContext>
}

export function useQueue(): Queue {
  const queue = useContext(QueueContext)
  if (!queue) throw new Error('uploads belong to an organisation')
  return queue
}

export function useUploads(): Upload[] {
  const queue = useQueue()
  return useSyncExternalStore(queue.subscribe, queue.list)
}
