import { createTheme, type MantineColorsTuple } from '@mantine/core'

const ink: MantineColorsTuple = [
  '#eef0fb',
  '#dadef5',
  '#b3bbec',
  '#8a96e4',
  '#6876dc',
  '#5363d7',
  '#4453c6',
  '#3a47ab',
  '#323e98',
  '#283384',
]

/** Warm greys for the dark, a little blue in them. */
const dark: MantineColorsTuple = [
  '#d5d8df',
  '#b6bac4',
  '#969ba8',
  '#6e7482',
  '#3a3f4b',
  '#2c313c',
  '#21252e',
  '#191c24',
  '#13161c',
  '#0d0f14',
]

export const theme = createTheme({
  primaryColor: 'ink',
  primaryShade: { light: 6, dark: 5 },
  colors: { ink, dark },
  autoContrast: true,
  defaultRadius: 'md',
  fontFamily: 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  headings: {
    fontWeight: '600',
    sizes: { h1: { fontSize: '1.375rem' }, h2: { fontSize: '1rem' }, h3: { fontSize: '0.875rem' } },
  },
  cursorType: 'pointer',
  respectReducedMotion: true,
})
