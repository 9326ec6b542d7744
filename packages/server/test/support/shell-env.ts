/** What a shell gives to every program, and what `npm start` adds. */
export function shellEnv(): NodeJS.ProcessEnv {
  const { PATH, HOME, NODE_COMPILE_CACHE, UV_THREADPOOL_SIZE } = process.env
  return { PATH, HOME, NODE_COMPILE_CACHE, UV_THREADPOOL_SIZE }
}
