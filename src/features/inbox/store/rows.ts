/** Folder as stored; the API shows `snoozed` as `inbox`. */
export type StoredFolder = 'inbox' | 'automatic' | 'archive' | 'spam' | 'sent' | 'trash' | 'snoozed';
/** Folders that a thread can be moved to. */
export type MoveFolder = 'inbox' | 'automatic' | 'archive' | 'spam' | 'trash';
/** Kind of an email id: sent by the inbox, received by it, or only referenced. */
export type KeyKind = 'sent' | 'received' | 'referenced';
export type Direction = 'inbound' | 'outbound';

export interface ThreadRow {
  id: string;
  team_id: string;
  inbox_id: string;
  subject: string;
  subject_key: string;
  folder: StoredFolder;
  is_read: number;
  sort_id: string;
  email_count: number;
  has_attachment: number;
  last_at: number;
  sender: string;
  to_list: string;
  cc_list: string;
  bcc_list: string;
  snippet: string;
  assignee_id: string | null;
  snoozed_until: number | null;
  notes: string | null;
  trashed_at: number | null;
  created_at: number;
}

export interface InboxEmailRow {
  inbox_id: string;
  email_id: string;
  thread_id: string;
  team_id: string;
  direction: Direction;
  is_read: number;
  has_attachment: number;
  sent_by: string | null;
  from_text: string;
  to_text: string;
  cc_text: string;
  bcc_text: string;
  body_text: string;
}

export interface InboxRow {
  id: string;
  team_id: string;
  domain_id: string;
  address: string;
  address_key: string;
  receiving_address: string | null;
  name: string | null;
  from_name: string | null;
  channel: 'open' | 'restricted' | 'personal';
  signature: string | null;
  thread_by_subject: number;
  agent_instructions: string | null;
  agent_tone: string | null;
  agent_actions: string;
  last_received_at: number | null;
  created_at: number;
  updated_at: number;
  deleted_at: number | null;
}

export interface LabelRow {
  id: string;
  inbox_id: string;
  name: string;
  name_key: string;
  color: string;
  created_at: number;
}

/** An email as it is put into a thread, received or sent. Lists are mailboxes as they are shown. */
export interface InboxMail {
  inboxId: string;
  teamId: string;
  /** Id in received_emails or emails. */
  emailId: string;
  direction: Direction;
  at: number;
  /** The signed-in person who sends it. */
  sentBy?: string | undefined;
  from: string;
  to: readonly string[];
  cc: readonly string[];
  bcc: readonly string[];
  subject: string;
  /** Beginning of its text. */
  text: string;
  /** Names of its files, empty for one without a name. */
  fileNames: readonly string[];
  /** Keys by which its thread is found later: its own id, and every id that it references. */
  keys: readonly { key: string; kind: KeyKind }[];
  /** Normalized addresses of the participants, without the inbox. */
  participants: readonly string[];
  /** Subject in the form that an inbox threading by subject compares. */
  subjectKey: string;
}
