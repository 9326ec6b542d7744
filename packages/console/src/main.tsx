import './components.css'
import './styles.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/query-client.ts'
import { Messages } from './parts/messages.tsx'
import { router } from './router.tsx'
import { theme } from './theme.ts'

const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? ''
// The library that locks scrolling behind a dialog makes a style of its own, and looks for its nonce here.
Reflect.set(window, '__webpack_nonce__', nonce)

const root = document.getElementById('root')
if (!root) throw new Error('the page has no root')

createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
        <Messages />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
