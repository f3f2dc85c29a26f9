export type CheckName =
  | 'variables'
  | 'links'
  | 'link_types'
  | 'subject'
  | 'preview_text'
  | 'alt_text'
  | 'image_weight'
  | 'text_and_images'
  | 'unsubscribe';

export interface ContentCheck {
  name: CheckName;
  status: 'pass' | 'warn' | 'fail';
  message: string;
  /** What the message is about, such as links, as they are written. */
  details: string[];
}
