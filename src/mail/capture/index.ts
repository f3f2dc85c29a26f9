/**
 * Capture: the development profile's catch-all mailbox, which users know as the playground. It keeps the very bytes that
 * would have gone over the wire, so that a developer sees what a recipient would have got. They never leave the machine.
 */
export { loadAuthentication, type Checks } from '../receive/index.ts';
export { captureMessage } from './capture-message.ts';
export { countCaptureWaits, endCaptureWaits } from './capture-waits.ts';
export { checkCaptured } from './check-captured.ts';
export {
  listCaptured,
  readCaptured,
  capturedBlobOwners,
  removeCaptured,
  type CapturedRow,
} from './captured-messages.store.ts';
export { findCaptured, type CapturedFilter } from './find-captured.ts';
export { CAPTURED_LIMITS, clearCaptured, readWholeCaptured } from './read-whole-captured.ts';
