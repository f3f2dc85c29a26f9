/**
 * The typed client of the API, shared by the command line and the console: where to call, with which key, one call per
 * operation of the contract, and failures as two kinds. It promises that a key read from a file reaches no other
 * server than its own; it never prints, and it never imports the server.
 */
export {
  BY_HAND,
  listOfAdvice,
  seeWhatThereIs,
  type Advice,
  type Advised,
  type Advices,
  type ByHand,
  quoted,
} from './advice.ts';
export {
  type Browser,
  createClient,
  type Client,
  type ClientOptions,
  type LinkedFile,
  type StreamCall,
  type StreamFrame,
} from './client.ts';
export {
  checkKey,
  chooseDataFolder,
  DEFAULT_URL,
  findTarget,
  OF_MACHINE,
  readUrl,
  type Target,
  type TargetInput,
  mustRun,
  readDevelopment,
  buildStartCommand,
  type Development,
} from './credentials.ts';
export { CredentialsFault, anotherProgram, ApiFault, isInClear, NoAnswer } from './faults.ts';
export { readHistory, type EmailHistory, type Forwarded } from './email-history.ts';
export {
  chooseProfile,
  chosenProfile,
  checkProfile,
  resolveCredentialsFile,
  forgetKey,
  isSession,
  keepKey,
  keptSession,
  listProfiles,
  type Profile,
  findStore,
  moveIntoKeyring,
  readEntry,
  type Environment,
} from './stored-credentials.ts';
export { describeStore, nameOfKeyring } from './keyring.ts';
export { findItem, fetchItemName, type Lookup, type Naming } from './item-name.ts';
export {
  findRoute,
  type AnswerOf,
  type BodyOf,
  type CallOf,
  type ContractId,
  type OperationId,
  type QueryOf,
} from './routes.ts';
