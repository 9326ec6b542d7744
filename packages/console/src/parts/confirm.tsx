import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** What cannot be undone is asked for twice. */
export function Confirm({
  isOpen,
  title,
  action,
  isBusy,
  onConfirm,
  onClose,
  children,
}: {
  isOpen: boolean
  title: string
  action: string
  isBusy: boolean
  onConfirm: () => void
  onClose: () => void
  children: ReactNode
}) {
  return (
    <Modal opened={isOpen} onClose={onClose} title={title} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack>
        <Text component="div" className="wrap">
          {children}
        </Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button color="red" onClick={onConfirm} loading={isBusy}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
