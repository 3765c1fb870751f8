/** What the system refuses, as an error of ours that says what to do: a port that is taken, a file that is not there. */
import { SvcError } from '../src/domain/index.js'

const FILE_REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path is no folder',
  EISDIR: 'it is a folder',
  EACCES: 'this user may not',
  EPERM: 'this user may not',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
}

const PORT_REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use: name another (PORT, or --port of svc), or end the program that has it',
  EACCES: 'is not for this user: name one above 1023',
}
type Listened = Record<'port' | 'address' | 'hostname', unknown>

/** `undefined` for any other error. */
export function systemError(error: unknown): SvcError | undefined {
  if (!(error instanceof Error)) return undefined
  const { code = '', syscall, path, port, address, hostname } = error as NodeJS.ErrnoException & Listened
  const unusable = syscall === 'listen' ? PORT_REASONS[code] : undefined
  if (unusable !== undefined) return new SvcError(`Port ${port} ${unusable}`, 'port_in_use')
  if (code === 'EADDRNOTAVAIL' || syscall === 'getaddrinfo')
    return new SvcError(`${address ?? hostname} is no address of this machine`, 'invalid_options')
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND')
    return new SvcError(error.message.split('\n')[0]!, 'module_not_found')
  const why = FILE_REASONS[code]
  if (why !== undefined && (path !== undefined || syscall === 'read' || syscall === 'write'))
    return new SvcError(`${path ?? 'A file'} cannot be used: ${why} (${code})`, 'file_unusable')
  return undefined
}
