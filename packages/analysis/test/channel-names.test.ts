import assert from 'node:assert/strict'
import { test } from 'node:test'
import { channelKinds } from '@tapedeck/contract/kinds'
import fc from 'fast-check'
import { kindOf, nameChannels } from '../src/channel-names.ts'

const nameOf = (topic: string, schema = '', encoding = 'cdr') =>
  nameChannels([{ topic, schema, encoding }])[0]?.name

test('names say what a channel is, without what only says how', () => {
  const expected: [string, string, string][] = [
    ['/camera/front/color/image_raw/compressed', 'sensor_msgs/msg/CompressedImage', 'camera/front_color'],
    ['/imu/data', 'sensor_msgs/Imu', 'imu'],
    ['/camera/depth/image_rect_raw', 'sensor_msgs/Image', 'depth/image_rect_raw'],
    ['/velodyne_points', 'sensor_msgs/PointCloud2', 'lidar'],
    ['/scan', 'sensor_msgs/msg/LaserScan', 'lidar'],
    ['/fix', 'sensor_msgs/NavSatFix', 'gps'],
    ['/joint_states', 'sensor_msgs/JointState', 'joints'],
    ['/odom', 'nav_msgs/Odometry', 'odometry'],
    ['/tf', 'tf2_msgs/msg/TFMessage', 'transforms'],
    ['/cmd_vel', 'geometry_msgs/Twist', 'command/cmd_vel'],
    ['/rosout', 'rcl_interfaces/msg/Log', 'log'],
    ['/map', 'nav_msgs/OccupancyGrid', 'map'],
    ['/radar/front', 'radar_msgs/RadarScan', 'radar/front'],
    ['vehicle_gps_position', 'vehicle_gps_position', 'gps/vehicle_gps_position'],
    ['/chatter', 'std_msgs/String', 'other/chatter'],
    ['observation.state', '', 'joints'],
    ['action', '', 'command'],
  ]
  for (const [topic, schema, name] of expected) assert.equal(nameOf(topic, schema), name, topic)
})

test('a sentence of a GPS receiver and a track are gps, whatever they are called', () => {
  assert.equal(nameOf('GPRMC', 'RMC', 'nmea'), 'gps/gprmc')
  assert.equal(nameOf('Sunday ride', 'trkpt', 'gpx'), 'gps/sunday_ride')
})

test('two channels that would share a name both get the longer one', () => {
  const named = nameChannels([
    { topic: '/imu/data', schema: 'sensor_msgs/Imu', encoding: 'cdr' },
    { topic: '/imu/data_raw', schema: 'sensor_msgs/Imu', encoding: 'cdr' },
  ])
  assert.deepEqual(
    named.map(({ name }) => name),
    ['imu/data', 'imu/data_raw'],
  )
})

const source = fc.record({
  topic: fc.oneof(
    fc.string({ maxLength: 30 }),
    fc
      .array(fc.constantFrom('camera', 'front', 'image_raw', 'imu', 'data', 'Data', 'lidar', 'ä', ' '), {
        maxLength: 4,
      })
      .map((list) => `/${list.join('/')}`),
  ),
  schema: fc.constantFrom('', 'sensor_msgs/Imu', 'sensor_msgs/Image', 'std_msgs/String'),
  encoding: fc.constantFrom('cdr', 'ros1', 'csv'),
})

test('names are unique in a session, well-formed, and of a known kind', () => {
  fc.assert(
    fc.property(fc.array(source, { maxLength: 30 }), (sources) => {
      const named = nameChannels(sources)
      assert.equal(new Set(named.map(({ name }) => name)).size, sources.length)
      for (const { name, kind } of named) {
        assert.match(name, /^[a-z]+(\/[a-z0-9_]+)?$/)
        assert.ok(channelKinds.includes(kind) && name.startsWith(kind))
      }
    }),
  )
})

test('names do not depend on the order of the channels', () => {
  const distinct = fc.uniqueArray(source, {
    maxLength: 12,
    selector: ({ topic, schema }) => `${topic}\0${schema}`,
  })
  fc.assert(
    fc.property(distinct, (sources) => {
      const named = (list: typeof sources) =>
        new Map(
          nameChannels(list).map(({ name }, index) => [
            `${list[index]?.topic}\0${list[index]?.schema}`,
            name,
          ]),
        )
      assert.deepEqual(named([...sources].reverse()), new Map([...named(sources)].reverse()))
    }),
  )
})

test('a picture of a depth camera is depth, its calibration is of the camera', () => {
  assert.equal(kindOf({ topic: '/depth/image', schema: 'sensor_msgs/Image', encoding: 'cdr' }), 'depth')
  assert.equal(
    kindOf({ topic: '/depth/camera_info', schema: 'sensor_msgs/CameraInfo', encoding: 'cdr' }),
    'camera',
  )
})
