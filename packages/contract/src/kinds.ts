/** What a channel can be: the first word of its name. */
export const channelKinds = [
  'camera',
  'depth',
  'lidar',
  'radar',
  'imu',
  'gps',
  'joints',
  'pose',
  'odometry',
  'transforms',
  'wrench',
  'command',
  'audio',
  'diagnostics',
  'log',
  'map',
  'event',
  'table',
  'other',
] as const
export type ChannelKind = (typeof channelKinds)[number]
