from pgaspy.array import GlobalArray
from pgaspy.creation import *
from pgaspy.layout import Distribution, Layout
