/** Somebody has opened an email or followed a link in it. */
export interface Reading {
  /** Of the event that it becomes, given when it happened: written twice, it is still one event. */
  id: string;
  at: number;
  emailId: string;
  ipAddress: string;
  userAgent: string;
  /** The target of a click; an opening has none. */
  link?: string;
}

/** A line that a crash has cut short is none. */
export function parseReading(line: string): Reading | undefined {
  try {
    const reading = JSON.parse(line) as Partial<Reading>;
    return typeof reading.id === 'string' && typeof reading.emailId === 'string' ? (reading as Reading) : undefined;
  } catch {
    return undefined;
  }
}
