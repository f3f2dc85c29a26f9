/**
 * Capture: the development profile's catch-all mailbox, which users know as the playground. It keeps the exact bytes
 * that would have been sent, so that a developer sees what a recipient would have received. They never leave the
 * machine.
 */
export { loadAuthentication, type Checks } from '../receive/index.ts';
export {
  createCaptureMessage,
  countCaptureWaits,
  endCaptureWaits,
  checkCaptured,
  findCaptured,
  type CapturedFilter,
  CAPTURED_LIMITS,
  clearCaptured,
  readWholeCaptured,
} from './captured-messages.ts';
export {
  listCaptured,
  readCaptured,
  capturedBlobOwners,
  removeCaptured,
  type CapturedRow,
} from './captured-messages.store.ts';
