/** The pixels of a canvas, four bytes each, to be written and then shown at once. */
export type Pixels = { data: Uint32Array; width: number; height: number; show(): void }

const kept = new WeakMap<HTMLCanvasElement, ImageData>()

/** All of them clear. The memory is that of the last time, as long as the size is. */
export function openPixels(context: CanvasRenderingContext2D): Pixels {
  const { canvas } = context
  let image = kept.get(canvas)
  if (!image || image.width !== canvas.width || image.height !== canvas.height) {
    image = context.createImageData(canvas.width, canvas.height)
    kept.set(canvas, image)
  }
  const data = new Uint32Array(image.data.buffer)
  data.fill(0)
  const shown = image
  return { data, width: canvas.width, height: canvas.height, show: () => context.putImageData(shown, 0, 0) }
}

/** `#rrggbb` as a pixel has it, on the machines that there are: the lowest byte first. */
export function packColour(hex: string): number {
  const value = Number.parseInt(hex.slice(1), 16)
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0
}
