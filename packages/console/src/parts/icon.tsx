// Drawn here, as few as there are: lines of 1.6 on a grid of 20.

const paths = {
  tape: (
    <>
      <rect x="2" y="4" width="16" height="12" rx="2.5" />
      <circle cx="7" cy="9.5" r="2" />
      <circle cx="13" cy="9.5" r="2" />
      <path d="M6 13.5h8" />
    </>
  ),
  segments: <path d="M3 5h5M10 5h7M3 10h9M14 10h3M3 15h3M8 15h9" />,
  device: (
    <>
      <rect x="4" y="7" width="12" height="9" rx="2" />
      <path d="M10 7V3.5M7.5 11.5h.01M12.5 11.5h.01M2 10.5v3M18 10.5v3" />
    </>
  ),
  webhook: <path d="M10 4v5l-4 5M10 9l4 5M6 15.5h8M10 2.5v1.5" />,
  key: (
    <>
      <circle cx="7" cy="12.5" r="3.5" />
      <path d="M9.5 10 16 3.5M13.5 6l2.5 2.5" />
    </>
  ),
  people: (
    <>
      <circle cx="8" cy="7" r="3" />
      <path d="M2.5 16.5c.6-3 2.8-4.5 5.5-4.5s4.9 1.5 5.5 4.5M13.5 4.5a3 3 0 0 1 0 5M15.5 12.5c1.2.7 1.8 2 2.1 4" />
    </>
  ),
  log: <path d="M4 4h12M4 8h12M4 12h8M4 16h5" />,
  code: <path d="m7 6-4 4 4 4M13 6l4 4-4 4" />,
  upload: <path d="M10 13V4M6.5 7.5 10 4l3.5 3.5M4 14v2h12v-2" />,
  copy: (
    <>
      <rect x="7" y="7" width="9" height="9" rx="2" />
      <path d="M13 4.5H6A2 2 0 0 0 4 6.5V13" />
    </>
  ),
  check: <path d="m4.5 10.5 3.5 3.5 7.5-8" />,
  moon: <path d="M16 11.5A6.5 6.5 0 1 1 8.5 4a5.2 5.2 0 0 0 7.5 7.5Z" />,
  sun: (
    <>
      <circle cx="10" cy="10" r="3.2" />
      <path d="M10 2.5v1.5M10 16v1.5M2.5 10H4M16 10h1.5M4.7 4.7l1 1M14.3 14.3l1 1M4.7 15.3l1-1M14.3 5.7l1-1" />
    </>
  ),
  chevron: <path d="m6 8 4 4 4-4" />,
  close: <path d="m5.5 5.5 9 9M14.5 5.5l-9 9" />,
  pause: <path d="M7.5 5v10M12.5 5v10" />,
  play: <path d="M7 4.5v11l8.5-5.5z" />,
  retry: <path d="M15.5 10a5.5 5.5 0 1 1-1.8-4.100M15.5 3.5v3h-3" />,
  back: <path d="m11.5 5-5 5 5 5" />,
  dots: <path d="M5 10h.01M10 10h.01M15 10h.01" />,
}

export function Icon({ name, size = 18 }: { name: keyof typeof paths; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.6}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {paths[name]}
    </svg>
  )
}
