"""Text of papers as a prompt may show it: nothing hidden, nothing that closes its delimiters; and what reads like an order.

Paper text is data between delimiters, and replies may cite only what was shown: that is the defence. What reads like an
instruction is a label for the reader (and such a paper is read in a call of its own); a clever text escapes it.
"""

import re

HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
"""Characters that show nothing: zero-width, soft hyphens, directions, fillers, tags, variation selectors, controls."""
SPACE = re.compile(r"\s+")
MARKUP = re.compile(r"<\|[a-z_ ]{2,20}\|>|\[/?INST\]|</?(?:system|assistant|user|instructions?|document|paper|context)\b[^>]{0,40}>|<<<|>>>|^#{2,} ?(?:system|instruction)", re.IGNORECASE)
ROLE = re.compile(r"(?:^|[.!?\n]\s{0,20})(?:SYSTEM|ASSISTANT|USER|INSTRUCTIONS?|System (?:prompt|message|note)|IMPORTANT(?: NOTE)?)\s*:")
ORDERS = re.compile(
    r"\b(?:ignor(?:e|ing)|disregard|forget|override|bypass)\b[^.]{0,30}\b(?:above|previous|prior|preceding|earlier|all|any|your|other|these)\b[^.]{0,30}"
    r"\b(?:instructions?|prompts?|rules?|directions?|messages?|guidelines?|papers?|text|constraints)\b"
    r"|\b(?:ignore|disregard|forget) (?:everything|all|the) (?:above|else|before|of the above)\b"
    r"|\byou (?:must|should|shall|will|are to|have to|need to|are required to) (?:now |always |only |instead )?(?:answer|reply|respond|cite|write|say|rate|give|output|mention|include|recommend|praise|accept|ignore|follow|state|claim)\b"
    r"|\b(?:dear|attention,?|note to|instructions? (?:to|for)|message (?:to|for)) (?:the |any |all )?(?:AI|LLM|language model|model|assistant|reviewer|chatbot)s?\b"
    r"|\bif you are (?:an? |the )?(?:AI|LLM|(?:large )?language model|assistant|reviewer)\b|\bas an AI (?:language model|assistant)\b"
    r"|\b(?:give|write|provide|produce) (?:only )?(?:an? )?(?:positive|favou?rable|strong(?:ly positive)?) (?:reviews?|ratings?|scores?)(?: only)?\b|\bpositive reviews? only\b"
    r"|\b(?:always|only|must) cite (?:this|only|our|the present)\b|\b(?:do not|never) (?:cite|mention) (?:any |the )?other\b"
    r"|\b(?:reply|respond|answer) (?:only )?with (?:the (?:word|text|sentence)|exactly|nothing but)\b|\bdo not (?:reveal|tell|mention) (?:this|the user|these instructions)\b"
    r"|\b(?:your|the) (?:system prompt|new instructions?) (?:is|are|follow)\b"
    r"|\bignorier\w* (?:alle |sämtliche )?(?:vorherigen|bisherigen|obigen|früheren) (?:Anweisungen|Regeln)|\bignore[rz]? (?:toutes )?les (?:instructions|consignes)|\bignora (?:todas )?las instrucciones"
    r"|忽略.{0,8}(?:以上|之前|上述|先前|前面|所有).{0,8}(?:指令|说明|提示|要求|内容)|(?:你|您)(?:必须|务必|应当)(?:回答|引用|回复|输出|评价)",
    re.IGNORECASE,
)
INSIDE_A_WORD = re.compile("[a-z][\u00ad\u034f\u200b\u200c\u200d\u2060-\u2064\ufe00-\ufe0f\ufeff]+[a-z]", re.IGNORECASE)
SOFT_HYPHEN_ONLY = re.compile("\u00ad")
SMUGGLED = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f\U000e0100-\U000e01ef]")


def visible(text: str) -> str:
    """A text for a prompt: no hidden characters, one line, and nothing that could close the delimiters around it."""
    return SPACE.sub(" ", HIDDEN.sub("", text)).replace("<<<", "‹‹‹").replace(">>>", "›››").strip()


def reads_like_an_instruction(text: str) -> bool:
    """Whether a text seems to speak to a model, or hides characters among its letters; neutral: papers on such attacks do too."""
    plain = HIDDEN.sub("", text)
    if any(pattern.search(plain) for pattern in (ORDERS, ROLE, MARKUP)):
        return True
    return bool(SMUGGLED.search(text) or INSIDE_A_WORD.search(SOFT_HYPHEN_ONLY.sub("", text)))
