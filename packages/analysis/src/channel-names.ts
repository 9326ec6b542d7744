import type { ChannelKind } from '@tapedeck/contract/kinds'

// Our own names for channels: `<kind>` or `<kind>/<name>`, made from schema and topic alone. They are the same in
// every session with the same topics, whatever the order in the file.

export type NamedSource = { topic: string; schema: string; encoding: string }

/** Names for all channels of a recording, each once, in the order given. */
export function nameChannels(sources: NamedSource[]): { kind: ChannelKind; name: string }[] {
  const plain = sources.map((source) => {
    const kind = kindOf(source)
    return {
      source,
      kind,
      short: join(kind, shortTokens(source.topic, kind)),
      long: join(kind, longTokens(source.topic, kind)),
    }
  })
  const shorts = count(plain.map(({ short }) => short))
  // Where two would share a name, both get the longer one: which is which must not depend on who came first.
  const chosen = plain.map(({ short, long }) => ((shorts.get(short) ?? 0) > 1 ? long : short))
  const numbered = uniqueNames(
    chosen,
    plain.map(({ source }) => `${source.topic}\0${source.schema}`),
  )
  return plain.map(({ kind }, index) => ({ kind, name: numbered[index] ?? kind }))
}

// First what the schema says, then what the topic says. The first rule that fits decides.
const bySchema: [RegExp, ChannelKind][] = [
  [/camerainfo|cameracalibration/, 'camera'],
  [/compressedvideo|compressedimage|rawimage|(^|[/.])image$|theora/, 'camera'],
  [/radar/, 'radar'],
  [/pointcloud|laserscan|velodyne|livox|ouster|hesai|packedelevation/, 'lidar'],
  [
    /(^|[/._])imu|magneticfield|sensor_combined|sensor_accel|sensor_gyro|sensor_mag|vehicle_imu|vehicle_acceleration|vehicle_angular_velocity/,
    'imu',
  ],
  [/navsat|gps|gnss|locationfix|^g[nplab][a-z]{3}$/, 'gps'],
  [/jointstate|jointtrajectory|multidof/, 'joints'],
  [/odometry/, 'odometry'],
  [/tfmessage|frametransform|transformstamped/, 'transforms'],
  [/wrench|forcetorque/, 'wrench'],
  [
    /posewithcov|posestamped|posearray|poseinframe|posesinframe|(^|[/.])pose(2d)?$|vehicle_attitude|vehicle_local_position|vehicle_global_position/,
    'pose',
  ],
  [
    /twist|ackermann|(^|[/.])joy$|actuator_(controls|outputs|motors|servos)|manual_control|_setpoint/,
    'command',
  ],
  [/audio/, 'audio'],
  [
    /diagnostic|batterystate|battery_status|cpuload|vehicle_status|estimator_status|system_power/,
    'diagnostics',
  ],
  [/(^|[/.])log$|log_message|logmessage/, 'log'],
  [/occupancygrid|mapmetadata|(^|[/.])grid$|costmap|octomap/, 'map'],
  [/(^|[/.])event/, 'event'],
]
const byTopic: [RegExp, ChannelKind][] = [
  [/depth|disparity/, 'depth'],
  [/(^|[/._])(video|camera|cam\d*|image|rgb)([/._]|$)|images?\./, 'camera'],
  [/radar/, 'radar'],
  [/lidar|velodyne|(^|[/._])scan([/._]|$)|point_?cloud|^udp\//, 'lidar'],
  [/(^|[/._])(imu|gyro|accel|acc|gyr|mag)\d*([/._]|$)/, 'imu'],
  [/(^|[/._])(gps|gnss|navsat|fix)\d*([/._]|$)/, 'gps'],
  [
    /(^|[/._])(cmd|command|action|actions|control|setpoint|joy|teleop|rcin|rcout)([/._]|$)|cmd_vel/,
    'command',
  ],
  [/joint|qpos|qvel|gripper|observation\.state/, 'joints'],
  [/odom/, 'odometry'],
  [/(^|[/._])tf(_static)?([/._]|$)/, 'transforms'],
  [/wrench|force|torque/, 'wrench'],
  [/(^|[/._])(pose|att|attitude|eef_pos|eef_quat)([/._]|$)|groundtruth|trajectory/, 'pose'],
  [/audio|microphone/, 'audio'],
  [/diagnos|battery|status|health|(^|[/._])(bat|powr)\d*([/._]|$)/, 'diagnostics'],
  [/rosout|(^|\/)(log|msg)(\/|$)/, 'log'],
  [/(^|[/._])(map|costmap)([/._]|$)/, 'map'],
  [/(^|[/._])(event|events|ev|mode|err)([/._]|$)/, 'event'],
  [/^table$/, 'table'],
]

export function kindOf({ topic, schema, encoding }: NamedSource): ChannelKind {
  if (encoding === 'nmea' || encoding === 'gpx') return 'gps'
  const [type, name] = [schema.toLowerCase(), topic.toLowerCase()]
  const found = match(bySchema, type) ?? match(byTopic, name)
  // A picture or a cloud from a depth camera is depth.
  if ((found === 'camera' || found === 'lidar') && /depth|disparity/.test(name) && !/camera_?info/.test(type))
    return 'depth'
  if (found === 'lidar' && /radar/.test(name)) return 'radar'
  if (found) return found
  return encoding === 'csv' ? 'table' : 'other'
}

function match(rules: [RegExp, ChannelKind][], text: string): ChannelKind | undefined {
  return text === '' ? undefined : rules.find(([pattern]) => pattern.test(text))?.[1]
}

/** Words that say how, not which: they are left out while the name stays unique. */
const noise = new Set(
  'image image_raw image_rect image_color raw compressed compresseddepth theora ffmpeg data data_raw points msg msgs state states topic sensor sensors output input observation observations obs stamped'.split(
    ' ',
  ),
)
const ownWords: Partial<Record<ChannelKind, string[]>> = {
  camera: ['camera', 'cameras', 'cam', 'images', 'video'],
  depth: ['camera', 'cameras', 'depth'],
  lidar: ['lidar', 'scan', 'velodyne_points', 'pointcloud', 'point_cloud', 'cloud'],
  gps: ['fix', 'navsat'],
  joints: ['joint_states', 'joint', 'joint_state'],
  odometry: ['odom'],
  transforms: ['tf'],
  command: ['cmd', 'actions', 'action'],
  log: ['rosout'],
}

function shortTokens(topic: string, kind: ChannelKind): string[] {
  const own = new Set([kind, ...(ownWords[kind] ?? [])])
  return tokens(topic).filter((token) => !noise.has(token) && !own.has(token))
}

function longTokens(topic: string, kind: ChannelKind): string[] {
  const all = tokens(topic)
  return all[0] === kind && all.length > 1 ? all.slice(1) : all
}

function tokens(topic: string): string[] {
  return topic
    .toLowerCase()
    .split(/[/.:\s]+/)
    .map((token) => token.replaceAll(/[^a-z0-9_]+/g, '_').replaceAll(/^_+|_+$/g, ''))
    .filter((token) => token !== '')
}

const MAX_NAME_CHARACTERS = 120

function join(kind: ChannelKind, parts: string[]): string {
  const name = parts.join('_').replaceAll(/_+/g, '_').slice(0, MAX_NAME_CHARACTERS)
  return name === '' || name === kind ? kind : `${kind}/${name}`
}

function count(names: string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Names that are still the same are numbered in the order of their keys. */
export function uniqueNames(names: string[], keys: string[]): string[] {
  const order = names.map((_, index) => index).sort((a, b) => ((keys[a] ?? '') < (keys[b] ?? '') ? -1 : 1))
  const taken = new Set<string>()
  const next = new Map<string, number>()
  const result = [...names]
  for (const index of order) {
    const base = names[index] ?? ''
    let name = base
    let number = next.get(base) ?? 2
    for (; taken.has(name); number++) name = `${base.includes('/') ? base : `${base}/${base}`}_${number}`
    next.set(base, number)
    taken.add(name)
    result[index] = name
  }
  return result
}
