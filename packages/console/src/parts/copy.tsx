import { ActionIcon, Button, CopyButton } from '@mantine/core'
import { Icon } from './icon.tsx'

export function CopyIconButton({ text, label }: { text: string; label: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          onClick={copy}
          aria-label={copied ? 'Copied' : label}
        >
          {copied ? <Icon name="check" size={15} /> : <Icon name="copy" size={15} />}
        </ActionIcon>
      )}
    </CopyButton>
  )
}

export function CopyTextButton({ text, children }: { text: string; children: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button
          variant="default"
          size="xs"
          onClick={copy}
          leftSection={copied ? <Icon name="check" size={14} /> : <Icon name="copy" size={14} />}
        >
          {copied ? 'Copied' : children}
        </Button>
      )}
    </CopyButton>
  )
}

/** Code to take along. */
export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div style={{ position: 'relative' }}>
      <section
        className="code"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
      >
        {code}
      </section>
      <div style={{ position: 'absolute', top: 8, right: 8 }}>
        <CopyIconButton text={code} label={`Copy ${label}`} />
      </div>
    </div>
  )
}
