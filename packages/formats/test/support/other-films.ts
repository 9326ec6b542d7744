import {
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  MkvOutputFormat,
  MovOutputFormat,
  Mp4OutputFormat,
  Output,
  type OutputFormat,
  WebMOutputFormat,
} from 'mediabunny'

// Films by another writer than our own, so that a misunderstanding of the formats does not cancel itself out.

const FRAMES = 50
const FRAME_S = 0.04
const PACKETS = 100
const PACKET_S = 0.02

export async function otherFilms(): Promise<{ name: string; bytes: Uint8Array; expected: unknown }[]> {
  const formats: Record<string, OutputFormat> = {
    mp4: new Mp4OutputFormat({ fastStart: 'in-memory' }),
    'mp4, index last': new Mp4OutputFormat({ fastStart: false }),
    'fragmented mp4': new Mp4OutputFormat({ fastStart: 'fragmented' }),
    mov: new MovOutputFormat({ fastStart: false }),
    mkv: new MkvOutputFormat(),
    webm: new WebMOutputFormat(),
  }
  const expected = [
    { topic: 'video/1', encoding: 'vp9', count: FRAMES, first: 0, last: (FRAMES - 1) * FRAME_S * 1e9 },
    { topic: 'audio/1', encoding: 'opus', count: PACKETS, first: 0, last: (PACKETS - 1) * PACKET_S * 1e9 },
  ]
  const films = Object.entries(formats).map(async ([name, format]) => ({
    name,
    bytes: await write(format),
    expected,
  }))
  return Promise.all(films)
}

async function write(format: OutputFormat): Promise<Uint8Array> {
  const target = new BufferTarget()
  const output = new Output({ format, target })
  const pictures = new EncodedVideoPacketSource('vp9')
  const sounds = new EncodedAudioPacketSource('opus')
  output.addVideoTrack(pictures, { frameRate: 1 / FRAME_S })
  output.addAudioTrack(sounds)
  await output.start()
  const picture = { decoderConfig: { codec: 'vp09.00.10.08', codedWidth: 64, codedHeight: 48 } }
  const sound = {
    decoderConfig: { codec: 'opus', numberOfChannels: 2, sampleRate: 48_000, description: opusHead() },
  }
  for (let packet = 0; packet < PACKETS; packet++) {
    const time = packet * PACKET_S
    if (packet % 2 === 0) {
      const type = packet % 40 === 0 ? 'key' : 'delta'
      await pictures.add(new EncodedPacket(new Uint8Array(200).fill(packet), type, time, FRAME_S), picture)
    }
    await sounds.add(new EncodedPacket(new Uint8Array(30).fill(packet), 'key', time, PACKET_S), sound)
  }
  await output.finalize()
  return new Uint8Array(target.buffer ?? new ArrayBuffer(0))
}

function opusHead(): Uint8Array {
  return new Uint8Array([...Buffer.from('OpusHead'), 1, 2, 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 0])
}
