import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jpegBrightness } from '../src/jpeg.ts'
import { damaged } from './support/damage.ts'
import { grayJpeg } from './support/jpeg-writer.ts'

/** Of a file that another program wrote: a picture of 2 by 2 pixels, in colour. */
const foreign = Buffer.from(
  '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AR//Z',
  'base64',
)

test('the brightness of a picture is the mean of its blocks, baseline and progressive', () => {
  const picture = fc.record({
    width: fc.integer({ min: 1, max: 70 }),
    height: fc.integer({ min: 1, max: 70 }),
    progressive: fc.boolean(),
    restartEvery: fc.integer({ min: 0, max: 5 }),
  })
  fc.assert(
    fc.property(
      picture,
      fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 81, maxLength: 81 }),
      (made, values) => {
        const at = (column: number, row: number) => values[row * 9 + column] ?? 0
        const blocks = Array.from({ length: Math.ceil(made.height / 8) }, (_, row) =>
          Array.from({ length: Math.ceil(made.width / 8) }, (_, column) => at(column, row)),
        ).flat()
        const mean = blocks.reduce((sum, value) => sum + value, 0) / blocks.length
        assert.ok(Math.abs((jpegBrightness(grayJpeg(made, at)) ?? Number.NaN) - mean) <= 0.5)
      },
    ),
  )
})

test('a picture by another program is read', () => {
  const brightness = jpegBrightness(foreign)
  assert.ok(brightness !== undefined && brightness >= 0 && brightness <= 255)
})

test('what is no picture, or cut, or broken, is no number out of range and no fault', () => {
  const whole = grayJpeg({ width: 160, height: 160, restartEvery: 7 }, (column, row) => (column * row) % 256)
  for (const { bytes, name } of damaged(whole, 3)) {
    const brightness = jpegBrightness(bytes)
    assert.ok(brightness === undefined || (brightness >= 0 && brightness <= 255), name)
  }
  assert.equal(jpegBrightness(whole.subarray(0, whole.length / 2)), undefined)
  assert.equal(jpegBrightness(new Uint8Array(100)), undefined)
})

test('a picture that says it is larger than any camera makes is not unpacked', () => {
  const huge = grayJpeg({ width: 8, height: 8 }, () => 0)
  const frameAt = huge.findIndex((byte, at) => byte === 0xff && huge[at + 1] === 0xc0)
  huge.set([0xff, 0xff, 0xff, 0xff], frameAt + 5)
  assert.equal(jpegBrightness(huge), undefined)
})
