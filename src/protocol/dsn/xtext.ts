/** RFC 3461 §4: printable ASCII but "+" and "=", and everything else as "+" and two digits. */
export const encodeXtext = (text: string): string =>
  text.replace(/[^!-~]|[+=]/g, (char) => `+${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
